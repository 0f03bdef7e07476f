"""The fake servers, checked with the official clients: what those can parse, Atelier must parse."""
