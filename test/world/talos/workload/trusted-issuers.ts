import { join } from 'node:path';
import type { TrustedOidcIssuer } from '../../kube/auth/oidc-tokens.ts';
import { type Fields, fieldsAt, listAt, textAt } from '../config/fields.ts';
import type { TalosNode } from '../node.ts';
import { authenticatorErrors, urlErrors } from './authenticators.ts';

/**
 * The issuers that the API server of a node trusts, by its arguments or by its file. Throws where it would not start.
 */
export function trustedIssuers(node: TalosNode, ownIssuers: readonly string[]): TrustedOidcIssuer[] {
  const found = parseIssuers(node, ownIssuers);
  const refused = found.find(({ url }) => node.world.refusedIssuers.has(url));
  if (refused) throw new Error(`invalid authentication configuration: ${refused.url} is not taken here`);
  return found;
}

function parseIssuers(node: TalosNode, ownIssuers: readonly string[]): TrustedOidcIssuer[] {
  const kubernetes = node.config?.view.kubernetes;
  if (kubernetes?.authentication) {
    const jwt = listAt(kubernetes.authentication, 'jwt').map((one) => one as Fields);
    throwIfAny(authenticatorErrors(jwt, ownIssuers));
    return jwt.map(toIssuer);
  }
  const arg = (name: string): string => kubernetes?.apiServerArgs[`oidc-${name}`]?.[0] ?? '';
  const url = arg('issuer-url');
  const isSaid = Object.keys(kubernetes?.apiServerArgs ?? {}).some((name) => name.startsWith('oidc-'));
  if (isSaid && (url === '' || arg('client-id') === ''))
    throw new Error('oidc-issuer-url and oidc-client-id must be specified together when any oidc-* flags are set');
  if (url === '') return [];
  throwIfAny([
    ...urlErrors(url).map((error) => `jwt[0].issuer.url: Invalid value: ${error}`),
    ...(ownIssuers.includes(url)
      ? ['jwt[0].issuer.url: Invalid value: URL must not overlap with disallowed issuers']
      : []),
  ]);
  const prefix = arg('username-prefix');
  const file = arg('ca-file');
  const claim = arg('username-claim') || 'sub';
  return [
    {
      url,
      audiences: [arg('client-id')],
      usernameClaim: claim,
      // The default is the issuer's URL, except for addresses; a dash means none (kube-apiserver:
      // authentication/config.go).
      usernamePrefix: prefix === '-' ? '' : prefix === '' && claim !== 'email' ? `${url}#` : prefix,
      groupsClaim: arg('groups-claim'),
      groupsPrefix: arg('groups-prefix'),
      userRules: [],
      ...(file === '' ? {} : { ca: fileOf(node, file) }),
    },
  ];
}

function throwIfAny(errors: readonly string[]): void {
  if (errors.length > 0) throw new Error(`invalid authentication configuration: ${errors.join(', ')}`);
}

const toIssuer = (jwt: Fields): TrustedOidcIssuer => {
  const ca = textAt(jwt, 'issuer.certificateAuthority');
  return {
    url: textAt(jwt, 'issuer.url'),
    audiences: listAt(jwt, 'issuer.audiences').map(String),
    usernameClaim: textAt(jwt, 'claimMappings.username.claim'),
    usernamePrefix: textAt(jwt, 'claimMappings.username.prefix'),
    groupsClaim: textAt(fieldsAt(jwt, 'claimMappings.groups'), 'claim'),
    groupsPrefix: textAt(fieldsAt(jwt, 'claimMappings.groups'), 'prefix'),
    userRules: listAt(jwt, 'userValidationRules').map((rule) => textAt(rule, 'expression')),
    ...(ca === '' ? {} : { ca }),
  };
};

/** A host file that is mounted into the API server. */
function fileOf(node: TalosNode, path: string): string {
  const volumes = node.config?.view.kubernetes.apiServerVolumes ?? [];
  const volume = volumes.find(({ mountPath }) => path.startsWith(`${mountPath}/`));
  const text = volume && node.files[join(volume.hostPath, path.slice(volume.mountPath.length))];
  if (text === undefined) throw new Error(`open ${path}: no such file or directory`);
  return text;
}
