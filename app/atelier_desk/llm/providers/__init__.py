"""The kinds of model servers, one file each: see ``atelier_desk.llm.registry``."""
