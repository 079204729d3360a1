import fc from 'fast-check';
import { beforeAll, describe, expect, it } from 'vitest';
import { stringify } from 'yaml';
import { propertyParameters } from '../../../../test/support/arbitrary/property-parameters.ts';
import { exampleConfigInput, exampleSecretsBundle } from '../../../../test/talos/example-config.ts';
import { describeWithTalosctl114, validateAllWithTalosctl } from '../../../../test/talos/talosctl.ts';
import type { ConfigDocument } from '../config-document.ts';
import { buildConfigDocuments } from '../machine-config.ts';
import { findDecodingProblems } from './decoding.ts';
import { documentKinds } from './document-kinds.ts';
import { mainDocumentSchema } from './main-document-schema.ts';
import type { ValueSchema } from './value-schema.ts';

const talosVersion = '1.14.0';

/** A position in a document, and the schema of its value. */
interface Place {
  readonly kind: string;
  /** `[]` adds a list element, `*` a map entry. */
  readonly path: readonly string[];
  readonly shape: ValueSchema;
}

function placesIn(kind: string, shape: ValueSchema, path: readonly string[] = []): Place[] {
  const here: Place[] = path.length > 0 ? [{ kind, path, shape }] : [];
  if (shape.is === 'any' || shape.is === 'scalar') return here;
  const below = shape.is === 'keys' ? shape.keys : { [shape.is === 'list' ? '[]' : '*']: shape.of };
  return [...here, ...Object.entries(below).flatMap(([key, inner]) => placesIn(kind, inner, [...path, key]))];
}

const places = [
  ...placesIn('main', mainDocumentSchema),
  ...Object.entries(documentKinds).flatMap(([name, { shape }]) => placesIn(name, shape)),
].filter(({ shape }) => shape.is !== 'any');

const good: Readonly<Record<string, unknown>> = {
  'a string': 'x',
  'a whole number, without quotes': 1,
  'true or false, without quotes': true,
  'a duration like 30s': '1h30m',
  'an IP address': '192.0.2.1',
  'a subnet like 192.0.2.0/24': '192.0.2.0/24',
  'in base64': 'eA==',
};

/**
 * Values that fit the schema, or values that do not. Excludes texts that Talos checks more strictly, which would hide a
 * decoding error.
 */
function valuesFor(shape: ValueSchema, fits: boolean): unknown[] {
  if (shape.is !== 'scalar') return fits ? [] : shape.is === 'list' ? ['x', { a: 'b' }] : ['x', ['x']];
  if (fits)
    return shape.description === 'a string'
      ? []
      : [good[shape.description] ?? shape.description.split(/ of |, /).at(-1)];
  return shape.description === 'a string' ? [['x'], { a: 'b' }] : [['x'], { a: 1 }, 'x', 1.5];
}

const wrap = (value: unknown, path: readonly string[]): unknown =>
  path.reduceRight((inner, key) => (key === '[]' ? [inner] : { [key === '*' ? 'a' : key]: inner }), value);

const documentOf = ({ kind, path }: Place, value: unknown): ConfigDocument => {
  const content = wrap(value, path) as ConfigDocument;
  return kind === 'main' ? content : { apiVersion: 'v1alpha1', kind, ...content };
};

const write = (documents: readonly ConfigDocument[]): string =>
  documents.map((one) => stringify(one, { defaultStringType: 'QUOTE_DOUBLE', defaultKeyType: 'PLAIN' })).join('---\n');

/** Talos' messages for a text that it cannot decode; its other messages differ. */
const undecodable = /error decoding|unknown keys|not registered|construct errors/;

let base: readonly ConfigDocument[];
beforeAll(async () => {
  base = buildConfigDocuments(exampleConfigInput(await exampleSecretsBundle(), { talosVersion }));
});

describeWithTalosctl114((talosctl) => {
  describe.each([
    { fits: true, what: 'what fits' },
    { fits: false, what: 'what does not fit' },
  ])('of all possible values in a document, talosctl decodes $what in the same way', ({ fits, what }) => {
    it('in forty positions', async () => {
      const candidates = places.flatMap((place) =>
        valuesFor(place.shape, fits).map((value) => ({ place, document: documentOf(place, value) })),
      );
      const { seed, numRuns } = propertyParameters(`decoding of ${what}`, 40);
      const picked = fc.sample(fc.constantFrom(...candidates), { seed, numRuns });
      const answers = await validateAllWithTalosctl(
        picked.map(({ place, document }) => {
          const config = write(place.kind === 'main' ? [document] : [...base, document]);
          return { binary: talosctl, mode: 'metal', config };
        }),
      );
      const duplicate = /duplicate document/;
      const disagreed = picked.flatMap(({ document }, i) => {
        const [ours, theirs] = [findDecodingProblems(document, talosVersion), answers[i] ?? ''];
        if (duplicate.test(theirs)) return [];
        return (ours.length === 0) === fits && undecodable.test(theirs) !== fits ? [] : [{ document, ours, theirs }];
      });
      expect(disagreed).toEqual([]);
    }, 60_000);
  });
});
