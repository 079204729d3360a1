import { join } from 'node:path';
import type { ConfigView } from '../config/config-view.ts';

/** The inputs of a kube-apiserver's flags besides the configuration. */
export interface FlagsContext {
  /** Minor of Talos. */
  readonly minor: number;
  /** Folder of the files of `api-server-files.ts`. */
  readonly folder: string;
  /** Of the node. */
  readonly address: string;
  /** Local paths of host mounts; default: the path itself. */
  readonly mounts?: string;
  /** URL of an etcd over plain HTTP. */
  readonly etcdUrl: string;
}

type Flags = Record<string, readonly string[]>;

/** An extra argument extends the existing value, or is refused; every other one replaces it. */
const additiveArguments = ['enable-admission-plugins', 'feature-gates', 'authorization-mode'];
const deniedArguments = [
  ...['etcd-servers', 'client-ca-file', 'requestheader-client-ca-file', 'proxy-client-cert-file'],
  ...['proxy-client-key-file', 'encryption-provider-config', 'etcd-cafile', 'etcd-certfile', 'etcd-keyfile'],
  ...['kubelet-client-certificate', 'kubelet-client-key', 'service-account-key-file'],
  ...['service-account-signing-key-file', 'tls-cert-file', 'tls-private-key-file', 'authorization-config'],
];

const ciphers = [
  ...['TLS_AES_128_GCM_SHA256', 'TLS_AES_256_GCM_SHA384', 'TLS_CHACHA20_POLY1305_SHA256'],
  ...['ECDSA', 'RSA'].flatMap((kind) =>
    ['AES_128_GCM_SHA256', 'AES_256_GCM_SHA384', 'CHACHA20_POLY1305', 'CHACHA20_POLY1305_SHA256'].map(
      (suite) => `TLS_ECDHE_${kind}_WITH_${suite}`,
    ),
  ),
];

/**
 * The command line of the static pod of kube-apiserver (talos: controllers/k8s/control_plane_static_pod.go of 1.12 and
 * 1.13, control_plane_final.go of 1.14), with changes for loopback: it listens only on the node's own address, etcd has
 * no TLS, and no Endpoints are written, because they may not be loopback addresses.
 *
 * Throws Talos's own error for an argument that it does not allow.
 */
export function apiServerFlags(view: ConfigView, context: FlagsContext): string[] {
  const { apiServerArgs } = view.kubernetes;
  const flags = merge(defaultFlags(view, context), apiServerArgs, context.minor, view);
  return Object.keys(flags)
    .sort()
    .flatMap((name) => (flags[name] ?? []).map((value) => `--${name}=${mounted(value, view, context)}`));
}

/** The local path of a path below a mount of the Pod. */
function mounted(value: string, { kubernetes }: ConfigView, { mounts }: FlagsContext): string {
  const volume = kubernetes.apiServerVolumes.find(({ mountPath }) => value.startsWith(`${mountPath}/`));
  if (!volume || mounts === undefined) return value;
  return join(mounts, volume.hostPath, value.slice(volume.mountPath.length));
}

function defaultFlags(view: ConfigView, { minor, folder, address, etcdUrl }: FlagsContext): Flags {
  const { kubernetes, endpoint } = view;
  const file = (name: string): string[] => [join(folder, name)];
  const issuers = [kubernetes.serviceAccount.issuer || endpoint, ...kubernetes.serviceAccount.acceptedIssuers];
  return {
    'admission-control-config-file': file('admission-control-config.yaml'),
    'advertise-address': [address],
    'allow-privileged': ['true'],
    ...(kubernetes.authentication
      ? { 'authentication-config': file('authentication-config.yaml') }
      : { 'anonymous-auth': ['false'] }),
    'api-audiences': [[endpoint, ...kubernetes.serviceAccount.acceptedAudiences].join(',')],
    'audit-log-maxage': ['30'],
    'audit-log-maxbackup': ['10'],
    'audit-log-maxsize': ['100'],
    'audit-log-path': file('kube-apiserver.log'),
    'audit-policy-file': file('auditpolicy.yaml'),
    ...authorization(kubernetes.apiServerArgs, file('authorization-config.yaml')),
    'bind-address': [address],
    'client-ca-file': file('ca.crt'),
    'enable-admission-plugins': ['NodeRestriction'],
    'enable-bootstrap-token-auth': ['true'],
    'encryption-provider-config': file('encryptionconfig.yaml'),
    'endpoint-reconciler-type': ['none'],
    'etcd-servers': [etcdUrl],
    'kubelet-client-certificate': file('apiserver-kubelet-client.crt'),
    'kubelet-client-key': file('apiserver-kubelet-client.key'),
    'kubelet-preferred-address-types': ['InternalIP,ExternalIP,Hostname'],
    profiling: ['false'],
    'proxy-client-cert-file': file('front-proxy-client.crt'),
    'proxy-client-key-file': file('front-proxy-client.key'),
    'requestheader-allowed-names': ['front-proxy-client'],
    'requestheader-client-ca-file': file('aggregator-ca.crt'),
    'requestheader-extra-headers-prefix': ['X-Remote-Extra-'],
    'requestheader-group-headers': ['X-Remote-Group'],
    'requestheader-username-headers': ['X-Remote-User'],
    'secure-port': [String(kubernetes.apiPort)],
    'service-account-issuer': issuers,
    'service-account-key-file': file('service-account.pub'),
    'service-account-signing-key-file': file('service-account.key'),
    'service-cluster-ip-range': [kubernetes.serviceSubnets.join(',')],
    'tls-cert-file': file('apiserver.crt'),
    ...(minor < 14 ? { 'tls-cipher-suites': [ciphers.join(',')] } : {}),
    'tls-min-version': [minor < 14 ? 'VersionTLS12' : 'VersionTLS13'],
    'tls-private-key-file': file('apiserver.key'),
  };
}

/** Authorizers in arguments replace the file. */
function authorization(extra: Flags, file: string[]): Flags {
  const inArguments = Object.keys(extra).some(
    (name) => name === 'authorization-mode' || name.startsWith('authorization-webhook-'),
  );
  return inArguments ? { 'authorization-mode': ['Node,RBAC'] } : { 'authorization-config': file };
}

function merge(own: Flags, extra: Flags, minor: number, view: ConfigView): Flags {
  const refused = [
    ...deniedArguments,
    ...(minor < 14 ? [] : ['tls-min-version']),
    ...(view.kubernetes.authentication ? ['authentication-config'] : []),
  ];
  const adding = minor < 14 ? [...additiveArguments, 'tls-cipher-suites'] : additiveArguments;
  const merged: Flags = { ...own };
  for (const [name, values] of Object.entries(extra)) {
    if (refused.includes(name)) throw new Error(`extra arg "${name}" is not allowed`);
    merged[name] = adding.includes(name) ? [union(own[name] ?? [], values)] : values;
  }
  return merged;
}

const union = (...lists: readonly (readonly string[])[]): string => {
  const parts = lists
    .flat()
    .flatMap((one) => one.split(','))
    .map((one) => one.trim());
  return [...new Set(parts)].filter((one) => one !== '').join(',');
};
