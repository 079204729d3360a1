import { isDeepStrictEqual } from 'node:util';
import { type Document, isMap, parseAllDocuments } from 'yaml';
import { ProviderError } from '../../../lib/errors.ts';
import { SecretString } from '../../../lib/secret-string.ts';

/**
 * The documents of a configuration that a node told, to be edited in place. Read so, a value stays the text that it is: 0644
 * and `on` mean other things to other readers of YAML. Keys are not compared with each other, which would take the square of their
 * number.
 */
export function parseConfigYaml(config: SecretString): Document[] {
  const documents = parseAllDocuments(config.reveal(), { schema: 'failsafe', uniqueKeys: false });
  if ('empty' in documents || documents.some(({ errors }) => errors.length > 0))
    throw new ProviderError('TALOS_CALL_FAILED', 'The machine configuration that the node told cannot be read.');
  return documents;
}

/** What was edited as one text. Each document begins with three dashes, whether it did or not. */
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

/** Whether two configurations say the same, however they are written. */
export const isSameConfig = (one: SecretString, other: SecretString): boolean =>
  isDeepStrictEqual(
    parseConfigYaml(one).map((document) => document.toJS()),
    parseConfigYaml(other).map((document) => document.toJS()),
  );
