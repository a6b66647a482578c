// Package logfile keeps the daemon's log: one JSON object a line, in a file that
// is its owner's alone and that is put aside when it has grown to a size, with a
// fixed number of older ones kept. It also reads the log back, follows it, and
// says what a record means, for the command line.
//
// It takes out no secrets: what is written has been through a redacting handler.
//
// Read writer.go first, then reader.go.
package logfile
