// Prints what Argo CD reads in the cluster Secrets of a namespace, as one line of JSON for each cluster, and what the cluster
// answers to it. The application controller reads them in the same way, and needs Redis and a repository server besides.
package main

import (
	"context"
	"encoding/json"
	"flag"
	"os"
	"time"

	"github.com/argoproj/argo-cd/v3/pkg/apis/application/v1alpha1"
	"github.com/argoproj/argo-cd/v3/util/db"
	"github.com/argoproj/argo-cd/v3/util/settings"
	metav1 "k8s.io/apimachinery/pkg/apis/meta/v1"
	"k8s.io/client-go/kubernetes"
	"k8s.io/client-go/tools/clientcmd"
)

type answer struct {
	Name       string            `json:"name"`
	Server     string            `json:"server"`
	Labels     map[string]string `json:"labels"`
	ConfigMaps int               `json:"configMaps"`
	Problem    string            `json:"problem,omitempty"`
}

func main() {
	namespace := flag.String("namespace", "argocd", "Namespace of the cluster Secrets")
	flag.Parse()
	ctx, cancel := context.WithTimeout(context.Background(), time.Minute)
	defer cancel()
	if err := run(ctx, *namespace); err != nil {
		_, _ = os.Stderr.WriteString(err.Error() + "\n")
		os.Exit(1)
	}
}

func run(ctx context.Context, namespace string) error {
	config, err := clientcmd.BuildConfigFromFlags("", os.Getenv("KUBECONFIG"))
	if err != nil {
		return err
	}
	hub, err := kubernetes.NewForConfig(config)
	if err != nil {
		return err
	}
	manager := settings.NewSettingsManager(ctx, hub, namespace)
	clusters, err := db.NewDB(namespace, manager, hub).ListClusters(ctx)
	if err != nil {
		return err
	}
	out := json.NewEncoder(os.Stdout)
	for i := range clusters.Items {
		cluster := &clusters.Items[i]
		if cluster.Name == "in-cluster" {
			continue
		}
		if err := out.Encode(ask(ctx, cluster)); err != nil {
			return err
		}
	}
	return nil
}

func ask(ctx context.Context, cluster *v1alpha1.Cluster) answer {
	found := answer{Name: cluster.Name, Server: cluster.Server, Labels: cluster.Labels}
	config, err := cluster.RESTConfig()
	if err != nil {
		found.Problem = err.Error()
		return found
	}
	client, err := kubernetes.NewForConfig(config)
	if err != nil {
		found.Problem = err.Error()
		return found
	}
	list, err := client.CoreV1().ConfigMaps("default").List(ctx, metav1.ListOptions{})
	if err != nil {
		found.Problem = err.Error()
		return found
	}
	found.ConfigMaps = len(list.Items)
	return found
}
