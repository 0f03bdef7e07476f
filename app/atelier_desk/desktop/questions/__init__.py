"""Questions and approvals on the screen: queue, dialogs, cards, and the presenter that coordinates them."""
