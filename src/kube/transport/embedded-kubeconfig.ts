import { KubeConfig } from '@kubernetes/client-node';
import { ProviderError } from '../../lib/errors.ts';
import { SecretString } from '../../lib/secret-string.ts';
import type { ApiServerConnectionParts } from './api-server-connection.ts';

const maxBytes = 1024 * 1024;

/**
 * The connection of a kubeconfig that comes from somebody else. It must contain everything itself: a command, a file or a
 * proxy in it would be used on this machine. Throws CONFIG_INVALID, without quoting it.
 */
export function parseEmbeddedKubeconfig(text: SecretString): ApiServerConnectionParts {
  const config = load(text.reveal());
  const cluster = config.getCurrentCluster();
  const user = config.getCurrentUser();
  if (!cluster || !user) throw invalid('its current context has no cluster or no user');
  if (!/^https:\/\//.test(cluster.server) || !URL.canParse(cluster.server)) throw invalid('its server is no https URL');
  const problem = findProblem({ ...cluster }, { ...user });
  if (problem !== undefined) throw invalid(problem);
  const [ca, cert, key] = [cluster.caData, user.certData, user.keyData].map((data) => data && decode(data));
  if (!user.token && !(cert && key)) throw invalid('its user has neither a token nor a certificate with its key');
  return {
    server: cluster.server,
    ...(ca && { ca }),
    ...(cert && { cert }),
    ...(key && { key: new SecretString(key) }),
    ...(user.token && { token: new SecretString(user.token) }),
    ...(cluster.tlsServerName && { servername: cluster.tlsServerName }),
  };
}

const decode = (data: string): string => Buffer.from(data, 'base64').toString('utf8');

const invalid = (problem: string): ProviderError =>
  new ProviderError('CONFIG_INVALID', `The kubeconfig cannot be used: ${problem}.`);

function load(text: string): KubeConfig {
  if (Buffer.byteLength(text) > maxBytes) throw invalid(`it is longer than ${maxBytes} bytes`);
  const config = new KubeConfig();
  try {
    config.loadFromString(text);
  } catch {
    // Without the cause: a YAML error quotes the lines around it, which may hold a token.
    throw invalid('it cannot be parsed');
  }
  return config;
}

const forbiddenOfCluster = ['caFile', 'skipTLSVerify', 'proxyUrl'] as const;
const forbiddenOfUser = ['exec', 'authProvider', 'certFile', 'keyFile', 'tokenFile', 'username', 'password'] as const;

function findProblem(
  cluster: Readonly<Record<string, unknown>>,
  user: Readonly<Record<string, unknown>>,
): string | undefined {
  const found = [
    ...forbiddenOfCluster.filter((field) => Boolean(cluster[field])),
    ...forbiddenOfUser.filter((field) => Boolean(user[field])),
  ];
  return found.length === 0 ? undefined : `${found.join(' and ')} is not supported`;
}
