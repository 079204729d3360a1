import { stringify } from 'yaml';
import { Secret } from '../../lib/secret.ts';

/** What a client of the cluster has to know besides its token. */
export interface ServerIdentity {
  readonly url: string;
  /** PEM of the cluster's certificate authority. */
  readonly ca: string;
}

/**
 * A kubeconfig with a token in it. Cluster and context are both called `cluster`, the user by the provider's name, as
 * the other openMCP providers do. The same input gives the same bytes.
 */
export function tokenKubeconfig(server: ServerIdentity, user: string, token: Secret): Secret {
  return new Secret(
    stringify({
      apiVersion: 'v1',
      kind: 'Config',
      clusters: [
        {
          name: 'cluster',
          cluster: { server: server.url, 'certificate-authority-data': Buffer.from(server.ca).toString('base64') },
        },
      ],
      users: [{ name: user, user: { token: token.reveal() } }],
      contexts: [{ name: 'cluster', context: { cluster: 'cluster', user } }],
      'current-context': 'cluster',
    }),
  );
}
