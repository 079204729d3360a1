import type { Cluster } from '../api/openmcp/types.ts';
import { findProviderConfig } from '../controllers/cluster/view.ts';
import type { Services } from '../controllers/shared/services.ts';
import type { ClientCertificate } from '../server/mutual-tls-server.ts';

/** The Cluster that a client may scale, or why there is none, as a sentence. */
export type ClientAuthorization = { readonly cluster: Cluster } | { readonly rejected: string };

/** As in the Go libraries that read the URI: a namespace and a name, and nothing else. */
const clusterUri = /^URI:cluster:\/\/([a-z0-9]([-a-z0-9]{0,61}[a-z0-9])?)\/([a-z0-9]([-a-z0-9.]{0,251}[a-z0-9])?)$/;

/**
 * One client certificate stands for one Cluster: it has exactly one URI among its subject alternative names,
 * `cluster://NAMESPACE/NAME`. The authority that signed it is trusted with that, and with nothing else.
 */
export function authorizeClient(
  services: Services,
  certificate: ClientCertificate | undefined,
  now: Date,
): ClientAuthorization {
  // The connection may be older than the end of the certificate.
  if (!certificate || certificate.validTo <= now)
    return { rejected: 'The client certificate has expired. Renew it, and connect again.' };
  const ref = parseClusterUri(certificate.names);
  if (!ref)
    return {
      rejected:
        'The client certificate needs exactly one URI in its subject alternative names: cluster://NAMESPACE/NAME of the Cluster.',
    };
  const cluster = services.stores.clusters.get(ref);
  if (cluster && findProviderConfig(services, cluster)) return { cluster };
  return {
    rejected: `The client certificate is for Cluster ${ref.namespace}/${ref.name}, which does not exist or has another provider. Correct the URI in its subject alternative names.`,
  };
}

/** Node quotes a name that contains a comma or a quote, so that none can pretend to be two. */
function parseClusterUri(names: string): { readonly namespace: string; readonly name: string } | undefined {
  if (names.includes('"')) return undefined;
  const uris = names.split(', ').filter((name) => name.startsWith('URI:'));
  const [, namespace, , name] = clusterUri.exec(uris[0] ?? '') ?? [];
  return uris.length === 1 && namespace !== undefined && name !== undefined ? { namespace, name } : undefined;
}
