//go:build !linux

package registry

import "os"

// limit does nothing here: the time limit of a run and the sizes that are checked
// after a fetch are all there is.
func limit(*os.Process, limits) error { return nil }
