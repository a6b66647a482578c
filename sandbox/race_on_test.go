//go:build race

package sandbox

// testDataBytes turns the kernel's limit off: the race detector's shadow memory
// alone is beyond it. The guard on resident memory stays.
const testDataBytes = -1
