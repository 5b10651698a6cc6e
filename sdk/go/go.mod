module provision-engine

go 1.19
