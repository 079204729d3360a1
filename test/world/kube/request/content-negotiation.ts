import { notAcceptableError } from '../errors.ts';

/** The requested form of the answer. */
export interface ResponseFormat {
  readonly yaml: boolean;
  /** `Table`, `PartialObjectMetadata`, `PartialObjectMetadataList`, or empty: the object itself. */
  readonly as: string;
  /** Group version of `as`. */
  readonly version: string;
}

const plain: ResponseFormat = { yaml: false, as: '', version: '' };
const servedVersions = ['v1', 'v1beta1'];

/** The first supported clause of an Accept header. A client that accepts only protobuf still gets JSON. */
export function negotiateFormat(accept: string | undefined, allowed: readonly string[] = []): ResponseFormat {
  if (!accept) return plain;
  let sawProtobuf = false;
  for (const clause of accept.split(',')) {
    const [type = '', ...parameters] = clause.split(';').map((part) => part.trim());
    const values = new Map(parameters.map((parameter) => parameter.split('=') as [string, string]));
    if (type === 'application/vnd.kubernetes.protobuf') sawProtobuf = true;
    const yaml = type === 'application/yaml';
    if (!yaml && !['application/json', '*/*', 'application/*'].includes(type)) continue;
    const as = values.get('as') ?? '';
    if (!as) return { ...plain, yaml };
    const version = values.get('v') ?? '';
    const isServed = values.get('g') === 'meta.k8s.io' && servedVersions.includes(version);
    if (isServed && allowed.includes(as)) return { yaml, as, version };
  }
  if (sawProtobuf) return plain;
  throw notAcceptableError(['application/json', 'application/yaml', 'application/vnd.kubernetes.protobuf']);
}
