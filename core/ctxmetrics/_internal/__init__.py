"""What every part uses: text from outside made safe, frozen data, keys, the version."""
