// Package snapshots holds what tools/list and prompts/list show of the connectors in
// this repository, one file each, so that a change to what clients and models read is
// a change to files. After a look: go test ./test/snapshots -update
package snapshots
