import { isDeepStrictEqual } from 'node:util';
import { stringify } from 'yaml';
import type { MachineConfig } from './decode-config.ts';
import { diffLines } from './diff.ts';

/**
 * Parts of `machine` that a running node of Talos 1.13 applies without a reboot; `cluster`, `debug` and all documents
 * are always applied.
 */
const machineParts = [
  ...['ca', 'acceptedCAs', 'time', 'certSANs', 'install', 'network', 'sysfs', 'sysctls', 'logging', 'controlPlane'],
  ...['kubelet', 'kernel', 'registries', 'pods', 'seccompProfiles', 'nodeAnnotations', 'nodeLabels', 'nodeTaints'],
];
const featureParts = ['kubernetesTalosAPIAccess', 'kubePrism', 'hostDNS', 'imageCache', 'nodeAddressSortAlgorithm'];

/**
 * Why `after` needs a reboot, or undefined. The message contains a diff with every change in clear text, the machine
 * token included, like that of the real node (talos: pkg/runtime/v1alpha1/v1alpha1_runtime.go).
 */
export function rebootReason(before: MachineConfig, after: MachineConfig): string | undefined {
  if (isDeepStrictEqual(withoutImmediateParts(before), withoutImmediateParts(after))) return undefined;
  const diff = diffLines(stringify(before.legacy ?? {}), stringify(after.legacy ?? {}));
  // Real diffs have lines of context around a change; the token is two lines below the type.
  const token = (after.legacy?.['machine'] as Record<string, unknown> | undefined)?.['token'];
  return `this config change can't be applied in immediate mode\ndiff:\n${diff}\n     token: ${String(token)}`;
}

function withoutImmediateParts(config: MachineConfig): unknown {
  const { debug: _debug, cluster: _cluster, ...root } = config.legacy ?? {};
  const machine = without(root['machine'], machineParts);
  return { ...root, machine: { ...machine, features: without(machine['features'], featureParts) } };
}

function without(value: unknown, keys: readonly string[]): Record<string, unknown> {
  const fields = typeof value === 'object' && value !== null ? (value as Record<string, unknown>) : {};
  return Object.fromEntries(Object.entries(fields).filter(([key]) => !keys.includes(key)));
}
