import { isRecord } from '../config-document.ts';

/**
 * Fields that talosctl writes even when they are empty, by document. To Talos, an empty one is the same as none. Where an
 * empty text means something, such as in a label, talosctl keeps what it finds.
 */
const writtenWhenEmpty: Readonly<Record<string, readonly string[]>> = {
  v1alpha1: [
    'cluster.ca.key',
    'cluster.discovery.registries.kubernetes',
    'cluster.discovery.registries.service',
    'machine.ca.key',
  ],
  KubeProxyConfig: ['config'],
};

/**
 * The content of a document without these fields. A configuration that was edited by `talosctl edit`, `upgrade-k8s` or
 * `rotate-ca` is written anew and has them.
 */
export function withoutEmptyFields(document: string, content: unknown): unknown {
  return (writtenWhenEmpty[document] ?? []).reduce((rest, path) => withoutEmptyField(rest, path.split('.')), content);
}

/** Maps that are empty without the field are removed with it. */
function withoutEmptyField(content: unknown, [name = '', ...inner]: readonly string[]): unknown {
  if (!isRecord(content) || !Object.hasOwn(content, name)) return content;
  const { [name]: value, ...rest } = content;
  const kept = inner.length === 0 ? value : withoutEmptyField(value, inner);
  return isEmpty(kept) ? rest : { ...content, [name]: kept };
}

const isEmpty = (value: unknown): boolean => value === '' || (isRecord(value) && Object.keys(value).length === 0);
