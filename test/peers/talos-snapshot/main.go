// The two ends of `talosctl etcd snapshot` as programs of their own, over mutual TLS, for measurements: `read` writes the
// snapshot of a node to standard output, and `serve` is a node that has nothing but one.
package main

import (
	"crypto/tls"
	"crypto/x509"
	"errors"
	"flag"
	"fmt"
	"os"

	"google.golang.org/grpc/credentials"
)

// The method of Talos' machine.proto. Its messages, common.Data with their bytes in field 2, have the form of Any.
const snapshotMethod = "/machine.MachineService/EtcdSnapshot"

type options struct {
	address, ca, cert, key, content, replies string
}

func main() {
	var asked options
	flags := flag.NewFlagSet("talos-snapshot", flag.ExitOnError)
	flags.StringVar(&asked.address, "address", "", "Host and port of the node")
	flags.StringVar(&asked.ca, "ca", "", "File with the CA of the other side")
	flags.StringVar(&asked.cert, "cert", "", "File with the own certificate")
	flags.StringVar(&asked.key, "key", "", "File with the own key")
	flags.StringVar(&asked.content, "content", "", "serve: the file that is the snapshot")
	flags.StringVar(&asked.replies, "replies", "", "serve: a file with the replies of other calls, as JSON, in base64")
	work := map[string]func(options) error{"read": read, "serve": serve}
	if len(os.Args) < 2 || work[os.Args[1]] == nil {
		fail(errors.New("use read or serve"))
	}
	if err := flags.Parse(os.Args[2:]); err != nil {
		fail(err)
	}
	if err := work[os.Args[1]](asked); err != nil {
		fail(err)
	}
}

func fail(err error) {
	fmt.Fprintln(os.Stderr, err)
	os.Exit(1)
}

func (o options) transport(server bool) (credentials.TransportCredentials, error) {
	pair, err := tls.LoadX509KeyPair(o.cert, o.key)
	if err != nil {
		return nil, err
	}
	pem, err := os.ReadFile(o.ca)
	if err != nil {
		return nil, err
	}
	authorities := x509.NewCertPool()
	authorities.AppendCertsFromPEM(pem)
	config := &tls.Config{Certificates: []tls.Certificate{pair}, MinVersion: tls.VersionTLS12}
	if server {
		config.ClientCAs, config.ClientAuth = authorities, tls.RequireAndVerifyClientCert
	} else {
		config.RootCAs = authorities
	}
	return credentials.NewTLS(config), nil
}
