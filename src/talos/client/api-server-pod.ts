import { isDeepStrictEqual } from 'node:util';
import { ProviderError } from '../../lib/errors.ts';
import { SecretString } from '../../lib/secret-string.ts';
import { isRecord, valueAt } from '../config/config-document.ts';
import { type OidcTrust, toJwtAuthenticators, toOidcArguments } from '../config/oidc/oidc-trust.ts';
import type { TalosClient } from './client.ts';
import type { TalosCallOptions } from './connection.ts';
import { resourceKinds } from './resources.ts';

/** The static pod of a control plane's kube-apiserver, as Talos defines it for the kubelet. */
export interface ApiServerPod {
  /** Without the suffix with the node name that the kubelet adds. */
  readonly name: string;
  readonly port: number;
  /**
   * The annotations with the versions of the configuration and its files. The mirror Pod has the same values once it
   * runs with them.
   */
  readonly versions: Readonly<Record<string, string>>;
  readonly command: readonly string[];
}

/** The active machine configuration of a node. */
export async function readMachineConfig(node: TalosClient, options: TalosCallOptions): Promise<SecretString> {
  const resource = await node.findResource(resourceKinds.machineConfig, 'v1alpha1', options);
  if (typeof resource?.spec !== 'string')
    throw new ProviderError('TALOS_NOT_READY', `${node.address} has no machine configuration.`);
  return new SecretString(resource.spec);
}

/** Undefined until Talos has created the static pod. */
export const findApiServerPod = (node: TalosClient, options: TalosCallOptions): Promise<ApiServerPod | undefined> =>
  findStaticPod(node, 'kube-apiserver', options);

/** The static pod of a component, e.g. `kube-scheduler`. Undefined if Talos has not created it. */
export async function findStaticPod(
  node: TalosClient,
  component: string,
  options: TalosCallOptions,
): Promise<ApiServerPod | undefined> {
  const resource = await node.findResource(resourceKinds.staticPod, component, options);
  if (!resource) return undefined;
  const notes = valueAt(resource.spec, 'metadata.annotations');
  const containers = valueAt(resource.spec, 'spec.containers');
  const [container] = Array.isArray(containers) ? containers : [];
  const command = valueAt(container, 'command');
  const args = Array.isArray(command) ? command.map(String) : [];
  const port = args.find((arg) => arg.startsWith('--secure-port='))?.split('=')[1];
  return {
    name: String(valueAt(resource.spec, 'metadata.name') ?? component),
    port: Number(port ?? 6443),
    versions: talosAnnotations(isRecord(notes) ? notes : {}),
    command: args,
  };
}

/** The annotations in which Talos stores version numbers (`constants.AnnotationStaticPod…`). */
export const talosAnnotations = (annotations: Readonly<Record<string, unknown>>): Record<string, string> =>
  Object.fromEntries(
    Object.entries(annotations)
      .filter(([key]) => key.startsWith('talos.dev/'))
      .map(([key, value]) => [key, String(value)]),
  );

/**
 * Whether a node has rendered its configuration into a Pod that trusts exactly these issuers: by the command line
 * before Talos 1.14, by a file since. Talos renders the Pod shortly after it has accepted a configuration.
 */
export async function hasRenderedTrust(
  node: TalosClient,
  pod: ApiServerPod,
  trust: readonly OidcTrust[],
  options: TalosCallOptions,
): Promise<boolean> {
  const given = Object.fromEntries(
    pod.command
      .filter((arg) => arg.startsWith('--oidc-'))
      .map((arg) => [arg.slice(2, arg.indexOf('=')), arg.slice(arg.indexOf('=') + 1)]),
  );
  if (!pod.command.some((arg) => arg.startsWith('--authentication-config=')))
    return isDeepStrictEqual(given, toOidcArguments(trust[0]));
  const file = await node.findResource(resourceKinds.authentication, 'authentication-config', options);
  const status = await node.findResource(resourceKinds.configStatus, 'static-pods', options);
  const jwt = valueAt(file?.spec, 'config.jwt') ?? [];
  if (!file || !isDeepStrictEqual(jwt, toJwtAuthenticators(trust))) return false;
  // The status holds the concatenated versions of all files; the version of this file is the last one.
  const version = String(valueAt(status?.spec, 'version') ?? '');
  return version.endsWith(file.version) && pod.versions['talos.dev/config-file-version'] === version;
}
