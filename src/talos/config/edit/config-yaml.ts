import { isDeepStrictEqual } from 'node:util';
import { type Document, isMap, parseAllDocuments } from 'yaml';
import { ProviderError } from '../../../lib/errors.ts';
import { memoizeByObject } from '../../../lib/memoize-by-object.ts';
import { SecretString } from '../../../lib/secret-string.ts';

/**
 * The documents of a node's configuration, for editing in place. The failsafe schema keeps every value as text: YAML
 * parsers differ about 0644 and `on`. The check for duplicate keys is off, since it takes quadratic time.
 */
export const parseConfigYaml = (config: SecretString): Document[] => parseDocuments(config, 'failsafe');

/**
 * The documents of a configuration, to be read only. The core schema reads numbers and booleans as Talos does. A
 * configuration is read several times in a row, so that each is parsed once.
 */
export const readConfigYaml = memoizeByObject((config: SecretString): readonly Document[] =>
  parseDocuments(config, 'core'),
);

function parseDocuments(config: SecretString, schema: 'failsafe' | 'core'): Document[] {
  const documents = parseAllDocuments(config.reveal(), { schema, uniqueKeys: false });
  if ('empty' in documents || documents.some(({ errors }) => errors.length > 0))
    throw new ProviderError('TALOS_CALL_FAILED', 'The machine configuration of the node cannot be read.');
  return documents;
}

/** Formats the edited documents as one text. Each document begins with three dashes. */
export const formatConfigYaml = (documents: readonly Document[]): SecretString =>
  new SecretString(
    documents
      .map((document) => {
        if (document.directives) document.directives.docStart = true;
        return document.toString({ lineWidth: 0 });
      })
      .join(''),
  );

/** Whether a document is the main one. */
export const isMainYamlDocument = (document: Document): boolean => isMap(document.contents) && !document.has('kind');

/** Whether two configurations have the same content, regardless of their format. */
export const isSameConfig = (one: SecretString, other: SecretString): boolean =>
  isDeepStrictEqual(
    parseConfigYaml(one).map((document) => document.toJS()),
    parseConfigYaml(other).map((document) => document.toJS()),
  );
