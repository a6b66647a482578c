// Package tck is the conformance kit of the SDKs: it runs a module of any language
// through the real sandbox with canned host calls, and compares what the module
// asks and answers.
//
// What a guest has to do is in README.md; a guest for each language is below
// guests. The kit knows no browser and makes no policy. Read tck.go first.
package tck
