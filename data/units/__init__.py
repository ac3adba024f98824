"""Work units: what the inputs are cut into (`catalog`), what is done to one (`work`), and the doing of all (`runs`)."""
