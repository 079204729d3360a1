import { fieldManager } from '../api/names.ts';
import { externalEndpointUrl, type NamespacedRef } from '../api/openmcp/types.ts';
import { renderCertificateKubeconfig } from '../controllers/access-request/kubeconfig.ts';
import { clusterIdentityOf } from '../controllers/cluster/identity.ts';
import { TargetClients } from '../controllers/shared/target-clients.ts';
import { isUnreachable } from '../kube/errors.ts';
import { ProviderError } from '../lib/errors.ts';
import { shortenName } from '../lib/hash.ts';
import { issueKubernetesClientCertificate } from '../talos/secrets/kubernetes-client-certificate.ts';
import { trustedCertificates } from '../talos/secrets/secrets-bundle.ts';
import { type AccessCommandContext, type AccessSession, withAccessSession } from './access/access-session.ts';
import { checkOutput, writeCredential } from './access/credential-output.ts';
import { type ClusterAccess, findClusterAccess } from './access/find-cluster-access.ts';
import { ensureReaderBinding, readerGroup } from './access/reader-binding.ts';
import { findCaller, recordIssue } from './access/record-issue.ts';
import type { KubeconfigRights, KubeconfigSettings } from './flags/access-settings.ts';
import { maxSubjectLength } from './flags/option-values.ts';

/** Prints a kubeconfig with a new client certificate, which the secrets of the cluster sign. */
export async function runKubeconfig(options: KubeconfigSettings & AccessCommandContext): Promise<void> {
  const { cluster: ref, rights, ttlSeconds } = options;
  await checkOutput(options);
  const text = await withAccessSession(options, async (session) => {
    const access = await findClusterAccess(session, ref);
    const url = findEndpoint(access, ref);
    if (rights.role === 'reader') await bindReaders(session, access, url);
    const caller = await findCaller(session);
    const client = await issueKubernetesClientCertificate(access.secrets.bundle, {
      now: session.clock.now(),
      lifetimeSeconds: ttlSeconds,
      user: subjectOf(caller),
      groups: groupsOf(rights),
    });
    await recordIssue(session, access.cluster, caller, {
      kind: 'kubeconfig',
      rights: describeRights(rights),
      certificate: client.certificate,
    });
    const server = { url, ca: trustedCertificates(access.secrets.bundle, 'kubernetes') };
    const context = `${ref.namespace}-${ref.name}`;
    return renderCertificateKubeconfig(
      server,
      { context, user: `${rights.role ?? rights.groups[0]}@${context}` },
      client,
    );
  });
  await writeCredential(text, options);
}

/** The published endpoint. Before the API server has answered for the first time: the one that the nodes have. */
function findEndpoint({ cluster, machines, secrets }: ClusterAccess, ref: NamespacedRef): string {
  const url = externalEndpointUrl(cluster) ?? machines[0]?.spec.endpoint ?? secrets.endpoint;
  if (url !== undefined) return url;
  throw new ProviderError(
    'CLUSTER_NOT_READY',
    `The endpoint of Cluster ${ref.namespace}/${ref.name} is not known: no control plane has an address yet. Wait for one: kubectl get tm shows them.`,
  );
}

async function bindReaders(session: AccessSession, { cluster, secrets }: ClusterAccess, url: string): Promise<void> {
  const { clock, log, signal } = session;
  const clients = new TargetClients({ secrets: () => secrets.object, clock, log, fieldManager });
  try {
    await ensureReaderBinding(await clients.client(clusterIdentityOf(cluster), url), signal);
  } catch (error) {
    if (!isUnreachable(error)) throw error;
    throw new ProviderError(
      'UNREACHABLE',
      `--role: reader needs a ClusterRoleBinding in the cluster, and ${url} does not answer. Run the command where the API server can be reached, or use --group or --role admin, which need no call.`,
      { cause: error },
    );
  } finally {
    await clients.close();
  }
}

const groupsOf = ({ role, groups }: KubeconfigRights): readonly string[] =>
  groups ?? [role === 'admin' ? 'system:masters' : readerGroup];

const describeRights = ({ role, groups }: KubeconfigRights): string =>
  role === undefined ? `the groups ${groups.join(', ')}` : `the role ${role}`;

/**
 * The user name in the audit log of the cluster. The prefix keeps it apart from the users of the cluster: a binding for
 * one of them must not apply to a namesake on the platform cluster.
 */
const subjectOf = (caller = 'unknown'): string => shortenName(`${fieldManager}:${caller}`, maxSubjectLength);
