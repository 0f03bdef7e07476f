"""The kinds of model servers, one module each: see ``atelier_desk.llm.provider_type_registry``."""
