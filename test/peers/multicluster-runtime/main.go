// A consumer of published clusters: multicluster-runtime with its Kubeconfig provider, unmodified. It logs every ConfigMap
// of every cluster that it is engaged with, as the example of the provider does.
package main

import (
	"context"
	"flag"
	"os"

	corev1 "k8s.io/api/core/v1"
	ctrl "sigs.k8s.io/controller-runtime"
	"sigs.k8s.io/controller-runtime/pkg/client"
	"sigs.k8s.io/controller-runtime/pkg/log/zap"
	metricsserver "sigs.k8s.io/controller-runtime/pkg/metrics/server"

	mcbuilder "sigs.k8s.io/multicluster-runtime/pkg/builder"
	mcmanager "sigs.k8s.io/multicluster-runtime/pkg/manager"
	mcreconcile "sigs.k8s.io/multicluster-runtime/pkg/reconcile"
	"sigs.k8s.io/multicluster-runtime/providers/kubeconfig"
)

func main() {
	namespace := flag.String("namespace", "default", "Namespace of the Secrets with kubeconfigs")
	flag.Parse()
	ctrl.SetLogger(zap.New(zap.UseDevMode(true)))
	if err := run(ctrl.SetupSignalHandler(), *namespace); err != nil {
		ctrl.Log.Error(err, "The consumer ended")
		os.Exit(1)
	}
}

func run(ctx context.Context, namespace string) error {
	provider := kubeconfig.New(kubeconfig.Options{Namespace: namespace})
	options := mcmanager.Options{Metrics: metricsserver.Options{BindAddress: "0"}}
	manager, err := mcmanager.New(ctrl.GetConfigOrDie(), provider, options)
	if err != nil {
		return err
	}
	if err := provider.SetupWithManager(ctx, manager); err != nil {
		return err
	}
	reconcile := func(ctx context.Context, request mcreconcile.Request) (ctrl.Result, error) {
		cluster, err := manager.GetCluster(ctx, request.ClusterName)
		if err != nil {
			return ctrl.Result{}, err
		}
		found := &corev1.ConfigMap{}
		if err := cluster.GetClient().Get(ctx, request.NamespacedName, found); err != nil {
			return ctrl.Result{}, client.IgnoreNotFound(err)
		}
		ctrl.LoggerFrom(ctx).Info("ConfigMap found", "cluster", request.ClusterName, "name", found.Name)
		return ctrl.Result{}, nil
	}
	err = mcbuilder.ControllerManagedBy(manager).
		Named("configmaps").
		For(&corev1.ConfigMap{}).
		Complete(mcreconcile.Func(reconcile))
	if err != nil {
		return err
	}
	return manager.Start(ctx)
}
