import { parse, stringify } from 'yaml';
import { group, openmcpGroup } from '../../api/names.ts';
import type { KubeObject } from '../../kube/resource.ts';
import { SecretString } from '../../lib/secret-string.ts';
import { maskSecrets } from '../../talos/config/mask-secrets.ts';
import { hiddenTexts, redactText } from './redact-text.ts';

/** A value for a bundle, and how many values in it were hidden. */
export interface Redacted<T> {
  readonly value: T;
  readonly hidden: number;
}

export const objectRuleNames: readonly string[] = [
  'annotations that are neither of this provider nor of openMCP: their values',
  'machine configuration patches: the values of files, manifests, variables, headers and secret names',
  'manifests: their content',
  'fields with a name such as password, token or secret: their texts',
];

const secretFieldPattern = /secret|token|passw|passphrase|privatekey|presharedkey|^psk$|credential|^auth$|apikey/i;
/** They name an object, or say when something ends. */
const harmlessFieldPattern = /ref$|name$|names$|namespace$|(at|time|timestamp)$|hash$|fingerprint$/i;
/** Prefixes of the annotations that the API of the provider and that of openMCP define. */
const shownAnnotations = [`${group}/`, `${openmcpGroup}/`, 'openmcp.cloud/'];
const maxDepth = 64;

/** An object without what could be a credential. The names of what was hidden stay, so that users can compare them. */
export function redactObject<T extends KubeObject>(object: T): Redacted<unknown> {
  const { managedFields: _, ...metadata } = object.metadata as T['metadata'] & { managedFields?: unknown };
  const counter = new Redactor();
  const value = counter.value({ ...object, metadata: { ...metadata, annotations: undefined } });
  const annotations = counter.annotations(object.metadata.annotations);
  const shown = value as { metadata: object };
  return {
    value: annotations ? { ...shown, metadata: { ...shown.metadata, annotations } } : shown,
    hidden: counter.hidden,
  };
}

/** Any other JSON of the program. */
export function redactValue(value: unknown): Redacted<unknown> {
  const counter = new Redactor();
  return { value: counter.value(value), hidden: counter.hidden };
}

/** By the rules for machine configurations. */
const isMasked = (text: string): boolean => /^\([a-z ]+\)$/.test(text);

class Redactor {
  hidden = 0;

  value(value: unknown, depth = 0): unknown {
    if (typeof value === 'string') return this.#text(value);
    if (typeof value !== 'object' || value === null) return value;
    if (depth > maxDepth) return this.#hide(hiddenTexts.notShown);
    if (Array.isArray(value)) return value.map((item) => this.value(item, depth + 1));
    return Object.fromEntries(
      Object.entries(value)
        .filter(([, child]) => child !== undefined)
        .map(([name, child]) => [this.#text(name), this.#field(name, child, depth)]),
    );
  }

  annotations(annotations: Readonly<Record<string, string>> | undefined): Record<string, unknown> | undefined {
    if (!annotations) return undefined;
    return Object.fromEntries(
      Object.entries(annotations).map(([name, text]) => [
        name,
        shownAnnotations.some((prefix) => name.startsWith(prefix))
          ? this.#text(text)
          : this.#hide(hiddenTexts.notShown),
      ]),
    );
  }

  #field(name: string, value: unknown, depth: number): unknown {
    if (name === 'patches' && Array.isArray(value)) return value.map((patch) => this.#patch(patch));
    if (/^contents?$/.test(name) && typeof value === 'string')
      return isMasked(value) ? value : this.#hide(hiddenTexts.notShown);
    const isSecret = secretFieldPattern.test(name) && !harmlessFieldPattern.test(name);
    if (isSecret && typeof value === 'string') return isMasked(value) ? value : this.#hide(hiddenTexts.secret);
    if (isSecret && Array.isArray(value) && value.some((item) => typeof item === 'string'))
      return value.map(() => this.#hide(hiddenTexts.secret));
    return this.value(value, depth + 1);
  }

  /** A part of a machine configuration, which may hold anything that Talos accepts. */
  #patch(patch: unknown): unknown {
    const masked: unknown = parse(maskSecrets(new SecretString(stringify(patch))));
    if (JSON.stringify(masked) !== JSON.stringify(patch)) this.hidden += 1;
    return this.value(masked);
  }

  #text(text: string): string {
    const redacted = redactText(text);
    this.hidden += redacted.hidden;
    return redacted.text;
  }

  #hide(by: string): string {
    this.hidden += 1;
    return by;
  }
}
