import { stringify } from 'yaml';
import type { NamespacedRef } from '../../api/openmcp/types.ts';
import { SecretString } from '../../lib/secret-string.ts';

/** What a client of the cluster has to know besides its token. */
export interface ApiServerEndpoint {
  readonly url: string;
  /** PEM of the cluster's certificate authority. */
  readonly ca: string;
}

/**
 * A kubeconfig with a token in it. Cluster and context are both called `cluster`, the user by the provider's name, as
 * the other openMCP providers do. The same input gives the same bytes.
 */
export function renderTokenKubeconfig(server: ApiServerEndpoint, user: string, token: SecretString): SecretString {
  return new SecretString(
    stringify(
      {
        apiVersion: 'v1',
        kind: 'Config',
        clusters: [
          {
            name: 'cluster',
            cluster: { server: server.url, 'certificate-authority-data': toBase64(server.ca) },
          },
        ],
        users: [{ name: user, user: { token: token.reveal() } }],
        contexts: [{ name: 'cluster', context: { cluster: 'cluster', user } }],
        'current-context': 'cluster',
      },
      { lineWidth: 0 },
    ),
  );
}

/** What a login by OIDC is described by. */
export interface OidcLogin {
  /** Name of the provider in the request. */
  readonly name: string;
  readonly issuer: string;
  readonly clientId: string;
  readonly extraScopes: readonly string[];
  /** PEM that the issuer's certificate is signed by, where it is not publicly known. */
  readonly ca?: string | undefined;
}

/**
 * A kubeconfig with nothing secret in it: `kubectl oidc-login` (the kubelogin plug-in) asks people to log in. Names and
 * arguments are those of the other openMCP providers. The same input gives the same bytes.
 */
export function renderOidcKubeconfig(
  server: ApiServerEndpoint,
  cluster: NamespacedRef,
  login: OidcLogin,
): SecretString {
  const clusterName = `${cluster.namespace}--${cluster.name}`;
  const context = `${clusterName}--${login.name}`;
  const args = [
    ...['oidc-login', 'get-token', '--grant-type=auto'],
    `--oidc-issuer-url=${login.issuer}`,
    `--oidc-client-id=${login.clientId}`,
    ...login.extraScopes.map((scope) => `--oidc-extra-scope=${scope}`),
    '--oidc-pkce-method=auto',
    ...(login.ca ? [`--certificate-authority-data=${toBase64(login.ca)}`] : []),
  ];
  const exec = {
    apiVersion: 'client.authentication.k8s.io/v1beta1',
    args,
    command: 'kubectl',
    env: null,
    provideClusterInfo: false,
  };
  return new SecretString(
    stringify(
      {
        apiVersion: 'v1',
        kind: 'Config',
        clusters: [
          { name: clusterName, cluster: { server: server.url, 'certificate-authority-data': toBase64(server.ca) } },
        ],
        users: [{ name: login.name, user: { exec } }],
        contexts: [{ name: context, context: { cluster: clusterName, user: login.name } }],
        'current-context': context,
      },
      { lineWidth: 0 },
    ),
  );
}

const toBase64 = (text: string): string => Buffer.from(text).toString('base64');
