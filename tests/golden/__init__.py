"""Files and digests recorded from earlier versions, against which later ones are held."""
