"""Model servers for tests: real HTTP on a loopback port, scripted answers. Their shape is proven by the makers' own clients."""
