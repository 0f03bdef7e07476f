"""Model servers for tests: real HTTP on a loopback port with scripted answers.

The providers' official clients prove their formats.
"""
