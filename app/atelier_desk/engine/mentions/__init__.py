"""Sources of ``@`` mentions in the composer, one module each, declared by ``@mentionable``."""
