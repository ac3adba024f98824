"""What every stage needs and no stage owns: errors, settings, files, finished work, outputs, secrets, progress."""
