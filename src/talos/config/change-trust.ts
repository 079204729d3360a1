import { isDeepStrictEqual } from 'node:util';
import { type Document, isScalar, visit } from 'yaml';
import { ProviderError } from '../../lib/errors.ts';
import type { Secret } from '../../lib/secret.ts';
import { isMainDocument, readDocuments, writeDocuments } from './edit.ts';
import { jwtAuthenticators, type OidcTrust, oidcArguments } from './oidc-trust.ts';

/** Where the two forms say whom kube-apiserver trusts. */
const argumentsPath = ['cluster', 'apiServer', 'extraArgs'];
const jwtPath = ['configuration', 'jwt'];

/**
 * The configuration of a running control plane with this trust in place of what it has, and with nothing else changed:
 * every other value stays as the node wrote it, down to how it is written. Undefined when it says so already. Works on
 * whichever form the node has; that by arguments takes one issuer.
 */
export function changeTrust(config: Secret, trust: readonly OidcTrust[]): Secret | undefined {
  const documents = readDocuments(config);
  const kindOf = (document: Document): unknown => document.get('kind');
  const modern = documents.some((document) => kindOf(document) === 'KubeAPIServerConfig');
  const place = documents.find((document) =>
    modern ? kindOf(document) === 'KubeAuthenticationConfig' : isMainDocument(document),
  );
  if (!place)
    throw new ProviderError('TALOS_CONFIG_INVALID', 'The node has no document that could say whom it trusts.');
  const changed = modern ? setAuthenticators(place, trust) : setArguments(place, trust);
  return changed ? writeDocuments(documents) : undefined;
}

function setAuthenticators(document: Document, trust: readonly OidcTrust[]): boolean {
  const wanted = jwtAuthenticators(trust);
  if (isDeepStrictEqual(document.toJS()?.configuration?.jwt ?? [], wanted)) return false;
  document.setIn(jwtPath, quoted(document, wanted));
  return true;
}

function setArguments(document: Document, trust: readonly OidcTrust[]): boolean {
  if (trust.length > 1)
    throw new ProviderError('TALOS_CONFIG_INVALID', 'The API server of this node can trust one issuer and not more.');
  const wanted = oidcArguments(trust[0]);
  const present = Object.entries(document.toJS()?.cluster?.apiServer?.extraArgs ?? {});
  const kept = present.filter(([name]) => !name.startsWith('oidc-'));
  const own = Object.fromEntries(present.filter(([name]) => name.startsWith('oidc-')));
  if (isDeepStrictEqual(own, wanted)) return false;
  if (kept.length + Object.keys(wanted).length === 0) document.deleteIn(argumentsPath);
  else {
    for (const name of Object.keys(own)) document.deleteIn([...argumentsPath, name]);
    for (const [name, value] of Object.entries(wanted))
      document.setIn([...argumentsPath, name], quoted(document, value));
  }
  return true;
}

function quoted(document: Document, value: unknown) {
  const node = document.createNode(value);
  visit(node, {
    Scalar: (key, scalar) => {
      if (key !== 'key' && isScalar(scalar)) scalar.type = 'QUOTE_DOUBLE';
    },
  });
  return node;
}
