// Package arch keeps the shape of the project: who may import whom, one package
// comment per package, and a README whose tour and links name things that exist.
package arch
