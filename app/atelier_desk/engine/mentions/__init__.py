"""What ``@`` finds in the composer: each source in a file of its own here, declared by ``@mentionable``."""
