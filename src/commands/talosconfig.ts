import type { Machine } from '../api/machine.ts';
import type { NamespacedRef } from '../api/openmcp/types.ts';
import { ProviderError } from '../lib/errors.ts';
import type { TalosRole } from '../talos/secrets/talos-role.ts';
import { issueTalosClientCertificate, renderTalosconfig } from '../talos/secrets/talosconfig.ts';
import { type AccessCommandContext, withAccessSession } from './access/access-session.ts';
import { checkOutput, writeCredential } from './access/credential-output.ts';
import { findClusterAccess } from './access/find-cluster-access.ts';
import { findCaller, recordIssue } from './access/record-issue.ts';
import type { TalosconfigSettings } from './flags/access-settings.ts';

/** Prints a talosconfig with a new client certificate, which the secrets of the cluster sign. No node is called. */
export async function runTalosconfig(options: TalosconfigSettings & AccessCommandContext): Promise<void> {
  const { cluster: ref, role, ttlSeconds } = options;
  await checkOutput(options);
  const text = await withAccessSession(options, async (session) => {
    const { cluster, machines, secrets } = await findClusterAccess(session, ref);
    const endpoints = addressesOf(machines.filter(({ spec }) => spec.role === 'controlplane'));
    if (endpoints.length === 0) throw noControlPlane(ref);
    const client = await issueTalosClientCertificate(secrets.bundle, {
      now: session.clock.now(),
      lifetimeSeconds: ttlSeconds,
      roles: [role],
    });
    const rights = `the role ${role}`;
    const caller = await findCaller(session);
    await recordIssue(session, cluster, caller, { kind: 'talosconfig', rights, certificate: client.certificate });
    const nodes = isHarmlessOnAllNodes(role) ? addressesOf(machines) : [];
    return renderTalosconfig(secrets.bundle, { client, context: `${ref.namespace}-${ref.name}`, endpoints, nodes });
  });
  await writeCredential(text, options);
}

const addressesOf = (machines: readonly Machine[]): string[] => [
  ...new Set(machines.flatMap(({ status }) => status?.address ?? [])),
];

/**
 * talosctl sends a command without `--nodes` to all nodes of the context at once. With a role that may reboot or erase
 * nodes, the user has to name them.
 */
const isHarmlessOnAllNodes = (role: TalosRole): boolean => role === 'os:reader';

const noControlPlane = ({ namespace, name }: NamespacedRef): ProviderError =>
  new ProviderError(
    'CLUSTER_NOT_READY',
    `No control plane of Cluster ${namespace}/${name} has an address yet. Wait for one: kubectl get tm shows them.`,
  );
