"""Work units: blocks of the inputs (`catalog`), the work on one (`work`), and the files that give them."""
