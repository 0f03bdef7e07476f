"""The files pane: folders of agents and the changes there."""
