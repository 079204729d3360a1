import type { TalosNode } from '../node.ts';
import { apiServerFlags } from '../workload/api-server-flags.ts';
import { componentImage } from './component-image.ts';
import { putMirrorPod, putStaticPod } from './static-pods.ts';

const podType = 'StaticPods.kubernetes.talos.dev';
const name = 'kube-apiserver';

/**
 * The resources that Talos derives from the configuration for the kubelet: the configuration of kube-apiserver, its
 * files, and the Pod, which carries the versions of both (talos: controllers/k8s/control_plane_static_pod.go,
 * render_config_static_pods.go).
 */
export function renderApiServerPod(node: TalosNode): void {
  const view = node.config?.view;
  if (!view) return;
  const { resources } = node;
  const { kubernetes } = view;
  const image = componentImage(node, 'apiServer');
  const config = { image, extraArgs: kubernetes.apiServerArgs, extraVolumes: kubernetes.apiServerVolumes };
  const made = resources.put('controlplane', 'APIServerConfigs.kubernetes.talos.dev', name, config);
  const files = putConfigFileResources(node);
  const annotations = {
    'talos.dev/secrets-version': putSecretStatus(node),
    'talos.dev/config-file-version': files,
    'talos.dev/config-version': String(made.version),
  };
  putStaticPod(node, { name, image, annotations }, ['/usr/local/bin/kube-apiserver', ...flagsOf(node)]);
}

const secretVersions = new WeakMap<TalosNode, { readonly secrets: string; readonly version: number }>();

/** The version of the certificates and keys of the static pods (talos: controllers/k8s/render_secrets_static_pod.go). */
function putSecretStatus(node: TalosNode): string {
  const { ca, acceptedCas, aggregatorCa, serviceAccount } = node.config?.view.kubernetes ?? {};
  const secrets = JSON.stringify([ca, acceptedCas, aggregatorCa, serviceAccount]);
  const known = secretVersions.get(node);
  const version = known?.secrets === secrets ? known.version : (known?.version ?? 0) + 1;
  secretVersions.set(node, { secrets, version });
  const spec = { ready: true, secretsVersion: String(version) };
  node.resources.put('controlplane', 'SecretStatuses.kubernetes.talos.dev', 'static-pods', spec);
  return spec.secretsVersion;
}

/** The versions of all files in one, those of the authentication last. */
function putConfigFileResources({ resources, config }: TalosNode): string {
  const kubernetes = config?.view.kubernetes;
  const put = (type: string, id: string, spec: unknown): number =>
    resources.put('controlplane', `${type}.kubernetes.talos.dev`, id, spec).version;
  const versions = [
    put('AdmissionControlConfigs', 'admission-control', { config: kubernetes?.admission }),
    put('AuditPolicyConfigs', 'audit-policy', { config: kubernetes?.auditPolicy }),
    put('AuthorizationConfigs', 'authorization', { config: kubernetes?.authorizers }),
    ...(kubernetes?.authentication
      ? [
          put('AuthenticationConfigs', 'authentication-config', {
            config: {
              ...kubernetes.authentication,
              apiVersion: 'apiserver.config.k8s.io/v1beta1',
              kind: 'AuthenticationConfiguration',
            },
          }),
        ]
      : []),
  ];
  const version = versions.join('');
  put('ConfigStatuses', 'static-pods', { ready: true, version });
  return version;
}

function flagsOf(node: TalosNode): string[] {
  const view = node.config?.view;
  const context = { minor: node.minor, folder: '/system/config', address: node.addresses[0] ?? '' };
  try {
    return view ? apiServerFlags(view, { ...context, etcdUrl: 'https://localhost:2379' }) : [];
  } catch (error) {
    // Talos keeps the existing Pod.
    node.log(`kube-apiserver: ${error instanceof Error ? error.message : String(error)}`);
    return [];
  }
}

/** The mirror Pod: the kubelet's view of the container and its readiness. */
export function putApiServerMirrorPod(node: TalosNode, ready: boolean): void {
  const pod = node.resources.get('k8s', podType, name)?.spec as
    | { metadata: { annotations: Record<string, string> }; spec: { containers: { image: string }[] } }
    | undefined;
  const image = pod?.spec.containers[0]?.image ?? '';
  putMirrorPod(node, { name, image, annotations: pod?.metadata.annotations ?? {}, ready });
}
