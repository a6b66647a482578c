//go:build !race

package sandbox

// testDataBytes 0 is the default.
const testDataBytes = 0
