import { isDeepStrictEqual } from 'node:util';
import { type Document, isScalar, visit } from 'yaml';
import { ProviderError } from '../../../lib/errors.ts';
import type { SecretString } from '../../../lib/secret-string.ts';
import { type OidcTrust, toJwtAuthenticators, toOidcArguments } from '../oidc/oidc-trust.ts';
import { formatConfigYaml, isMainYamlDocument, parseConfigYaml } from './config-yaml.ts';

/** The paths of the two forms of OIDC trust in the configuration. */
const argumentsPath = ['cluster', 'apiServer', 'extraArgs'];
const jwtPath = ['configuration', 'jwt'];

/**
 * The configuration of a running control plane with this trust instead of its current one, and otherwise unchanged,
 * including the format of all other values. Returns undefined when the configuration has this trust already. Edits the
 * form that the node uses; the form with arguments supports one issuer.
 */
export function setOidcTrust(config: SecretString, trust: readonly OidcTrust[]): SecretString | undefined {
  const documents = parseConfigYaml(config);
  const kindOf = (document: Document): unknown => document.get('kind');
  const modern = documents.some((document) => kindOf(document) === 'KubeAPIServerConfig');
  const place = documents.find((document) =>
    modern ? kindOf(document) === 'KubeAuthenticationConfig' : isMainYamlDocument(document),
  );
  if (!place)
    throw new ProviderError('TALOS_CONFIG_INVALID', 'The node does not support configuration of OIDC issuers.');
  const changed = modern ? setAuthenticators(place, trust) : setArguments(place, trust);
  return changed ? formatConfigYaml(documents) : undefined;
}

function setAuthenticators(document: Document, trust: readonly OidcTrust[]): boolean {
  const wanted = toJwtAuthenticators(trust);
  if (isDeepStrictEqual(document.toJS()?.configuration?.jwt ?? [], wanted)) return false;
  document.setIn(jwtPath, createQuotedNode(document, wanted));
  return true;
}

function setArguments(document: Document, trust: readonly OidcTrust[]): boolean {
  if (trust.length > 1)
    throw new ProviderError('TALOS_CONFIG_INVALID', 'The API server of this node supports only one issuer.');
  const wanted = toOidcArguments(trust[0]);
  const present = Object.entries(document.toJS()?.cluster?.apiServer?.extraArgs ?? {});
  const kept = present.filter(([name]) => !name.startsWith('oidc-'));
  const own = Object.fromEntries(present.filter(([name]) => name.startsWith('oidc-')));
  if (isDeepStrictEqual(own, wanted)) return false;
  if (kept.length + Object.keys(wanted).length === 0) document.deleteIn(argumentsPath);
  else {
    for (const name of Object.keys(own)) document.deleteIn([...argumentsPath, name]);
    for (const [name, value] of Object.entries(wanted))
      document.setIn([...argumentsPath, name], createQuotedNode(document, value));
  }
  return true;
}

function createQuotedNode(document: Document, value: unknown) {
  const node = document.createNode(value);
  visit(node, {
    Scalar: (key, scalar) => {
      if (key !== 'key' && isScalar(scalar)) scalar.type = 'QUOTE_DOUBLE';
    },
  });
  return node;
}
