import { stringify } from 'yaml';
import type { NamespacedRef } from '../../api/openmcp/types.ts';
import { SecretString } from '../../lib/secret-string.ts';
import type { KeyPair } from '../../talos/secrets/certificates.ts';
import { toBase64 } from '../../talos/secrets/pem.ts';

/** The address of an API server and the CA to verify it. */
export interface ApiServerEndpoint {
  readonly url: string;
  /** PEM of the cluster's CA certificate. */
  readonly ca: string;
}

/**
 * A kubeconfig with a token. Cluster and context are both named `cluster` and the user after the provider, as in the
 * other openMCP providers. Deterministic: the same input gives the same bytes.
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

/** A kubeconfig with a client certificate. Cluster and context have the same name. */
export function renderCertificateKubeconfig(
  server: ApiServerEndpoint,
  { context, user }: { readonly context: string; readonly user: string },
  client: KeyPair,
): SecretString {
  const credentials = {
    'client-certificate-data': toBase64(client.certificate),
    'client-key-data': toBase64(client.key.reveal()),
  };
  return new SecretString(
    stringify(
      {
        apiVersion: 'v1',
        kind: 'Config',
        clusters: [
          { name: context, cluster: { server: server.url, 'certificate-authority-data': toBase64(server.ca) } },
        ],
        users: [{ name: user, user: credentials }],
        contexts: [{ name: context, context: { cluster: context, user } }],
        'current-context': context,
      },
      { lineWidth: 0 },
    ),
  );
}

/** The parameters of an OIDC login. */
export interface OidcLogin {
  /** Name of the OIDC provider in the request. */
  readonly name: string;
  readonly issuer: string;
  readonly clientId: string;
  readonly extraScopes: readonly string[];
  /** PEM of the issuer's CA certificate, if it is not a public CA. */
  readonly ca?: string | undefined;
}

/**
 * A kubeconfig without secrets: the login runs through `kubectl oidc-login` (the kubelogin plug-in). Names and
 * arguments are those of the other openMCP providers. Deterministic: the same input gives the same bytes.
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

/** The Base64 of the certificates in a kubeconfig that this module has rendered. */
export const readAuthorityOf = (kubeconfig: string): string | undefined =>
  /^ *certificate-authority-data: (\S+)$/m.exec(kubeconfig)?.[1];
