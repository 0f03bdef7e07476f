"""The kinds of model servers, one module each: see ``atelier_desk.llm.registry``."""
