import { describe, expect, it } from 'vitest';
import { causesOf, expectRejection, expectSuccess, warningsOf } from '../../support/expectations.ts';
import type { Body, RawResponse } from '../../support/raw-kube-client.ts';
import type { ServerUnderTest } from '../../support/server-under-test.ts';
import { crdsPath, describeSuiteCrd, randomName } from '../../support/widgets.ts';

/** Why a CustomResourceDefinition is rejected, or accepted with a warning. */
export function testCrdValidation(server: () => ServerUnderTest): void {
  describe('definitions', () => {
    const object = (properties: Body, more: Body = {}): Body => ({ type: 'object', properties, ...more });
    const spec = (properties: Body, more: Body = {}): Body => object({ spec: object(properties, more) });
    const names = () => {
      const plural = `${randomName()}s`;
      return { plural, kind: plural.charAt(0).toUpperCase() + plural.slice(1) };
    };
    /** Creates a definition as a dry run. */
    const propose = (schema: Body, change: Parameters<typeof describeSuiteCrd>[3] = {}): Promise<RawResponse> =>
      server().admin.post(crdsPath, describeSuiteCrd(server(), names(), schema, change), { query: { dryRun: 'All' } });
    const rejection = async (schema: Body, change: Parameters<typeof describeSuiteCrd>[3] = {}) =>
      causesOf(expectRejection(await propose(schema, change), 422, 'Invalid'));
    // Errors in a schema, columns and fields that all versions share have a path at the top level, where v1beta1 had
    // them.
    const at = (path: string) => `spec.validation.openAPIV3Schema${path}`;

    describe('are rejected', () => {
      it('with a name that is not <plural>.<group>', async () => {
        const body = describeSuiteCrd(server(), names(), spec({}));
        body.metadata.name = 'something.else';
        const status = expectRejection(await server().admin.post(crdsPath, body), 422, 'Invalid');
        expect(causesOf(status)).toEqual([
          `metadata.name: Invalid value: "something.else": must be spec.names.plural+"."+spec.group`,
        ]);
      });

      it('without a schema', async () => {
        const body = describeSuiteCrd(server(), names(), spec({}));
        delete body.spec.versions[0].schema;
        const status = expectRejection(await server().admin.post(crdsPath, body), 422, 'Invalid');
        expect(causesOf(status).join('\n')).toContain('spec.versions[0].schema.openAPIV3Schema: Required value');
      });

      it('with two storage versions or none', async () => {
        const causes = await rejection(spec({}), { version: { storage: false } });
        expect(causes.join('\n')).toContain('must have exactly one version marked as storage version');
      });

      it('with an unknown scope, conversion or version name', async () => {
        const scope = await rejection(spec({}), { spec: { scope: 'Galaxy' } });
        expect(scope).toEqual(['spec.scope: Unsupported value: "Galaxy": supported values: "Cluster", "Namespaced"']);
      });

      it.each<[string, () => Body, (path: (p: string) => string) => string]>([
        [
          'a type that is missing (not structural)',
          () => spec({ a: { description: 'untyped' } }),
          (path) =>
            `${path('.properties[spec].properties[a].type')}: Required value: must not be empty for specified object fields`,
        ],
        [
          'a root that is no object',
          () => ({ type: 'string' }),
          (path) => `${path('.type')}: Invalid value: "string": must be object at the root`,
        ],
        [
          'items that are missing',
          () => spec({ a: { type: 'array' } }),
          (path) => `${path('.properties[spec].properties[a].items')}: Required value: must be specified`,
        ],
        [
          'properties beside additionalProperties',
          () =>
            spec({
              a: { type: 'object', properties: { b: { type: 'string' } }, additionalProperties: { type: 'string' } },
            }),
          (path) =>
            `${path('.properties[spec].properties[a].additionalProperties')}: Forbidden: additionalProperties and properties are mutual exclusive`,
        ],
        [
          '$ref',
          () => spec({ a: { $ref: '#/definitions/x' } }),
          (path) => `${path('.properties[spec].properties[a].$ref')}: Forbidden: $ref is not supported`,
        ],
        [
          'uniqueItems',
          () => spec({ a: { type: 'array', uniqueItems: true, items: { type: 'string' } } }),
          (path) =>
            `${path('.properties[spec].properties[a].uniqueItems')}: Forbidden: uniqueItems cannot be set to true since the runtime complexity becomes quadratic`,
        ],
        [
          'types inside anyOf',
          () => spec({ a: { type: 'string', anyOf: [{ type: 'string' }] } }),
          (path) =>
            `${path('.properties[spec].properties[a].anyOf[0].type')}: Forbidden: must be empty to be structural`,
        ],
        [
          'a default that the schema refuses',
          () => spec({ a: { type: 'integer', default: 'x' } }),
          (path) =>
            `${path('.properties[spec].properties[a].default')}: Invalid value: "string":  in body must be of type integer: "string"`,
        ],
        [
          'a pattern that is no regular expression',
          () => spec({ a: { type: 'string', pattern: '(' } }),
          (path) =>
            `${path('.properties[spec].properties[a].pattern')}: Invalid value: "(": must be a valid regular expression, but isn't: error parsing regexp: missing closing ): \`(\``,
        ],
        [
          'a pattern with look-ahead (RE2 has none)',
          () => spec({ a: { type: 'string', pattern: '^(?!x)' } }),
          (path) =>
            `${path('.properties[spec].properties[a].pattern')}: Invalid value: "^(?!x)": must be a valid regular expression, but isn't: error parsing regexp: invalid or unsupported Perl syntax: \`(?!\``,
        ],
        [
          'a list of type map without keys',
          () =>
            spec({ a: { type: 'array', 'x-kubernetes-list-type': 'map', items: object({ n: { type: 'string' } }) } }),
          (path) =>
            `${path('.properties[spec].properties[a].x-kubernetes-list-map-keys')}: Required value: must not be empty if x-kubernetes-list-type is map`,
        ],
        [
          'a map key that is not among the required fields',
          () =>
            spec({
              a: {
                type: 'array',
                'x-kubernetes-list-type': 'map',
                'x-kubernetes-list-map-keys': ['n'],
                items: object({ n: { type: 'string' } }),
              },
            }),
          (path) =>
            `${path('.properties[spec].properties[a].items.properties[n].default')}: Required value: this property is in x-kubernetes-list-map-keys, so it must have a default or be a required property`,
        ],
        [
          'rules on metadata other than name',
          () => object({ metadata: object({ labels: { type: 'object', additionalProperties: { type: 'string' } } }) }),
          (path) =>
            `${path('.properties[metadata]')}: Forbidden: must not specify anything other than name and generateName, but metadata is implicitly specified`,
        ],
      ])('for %s', async (_, schema, expected) => {
        const causes = await rejection(schema());
        expect(causes.join('\n')).toContain(expected(at));
      });

      it('for a printer column with an invalid path', async () => {
        const columns = [{ name: 'X', type: 'string', jsonPath: 'spec.a' }];
        const causes = await rejection(spec({}), { version: { additionalPrinterColumns: columns } });
        expect(causes[0]).toMatch(
          /^spec\.additionalPrinterColumns\[0\]\.JSONPath: Invalid value: "spec\.a": must be a simple json path starting with \.$/,
        );
      });

      it('for a printer column of an unknown type', async () => {
        const columns = [{ name: 'X', type: 'text', jsonPath: '.spec.a' }];
        const causes = await rejection(spec({}), { version: { additionalPrinterColumns: columns } });
        expect(causes[0]).toMatch(
          /^spec\.additionalPrinterColumns\[0\]\.type: Invalid value: "text": must be one of boolean,date,integer,number,string$/,
        );
      });

      it('for a selectable field that the schema does not have', async () => {
        const causes = await rejection(spec({}), { version: { selectableFields: [{ jsonPath: '.spec.nothing' }] } });
        expect(causes[0]).toMatch(
          /^spec\.selectableFields\[0\]\.jsonPath: Invalid value: "\.spec\.nothing": is an invalid path: does not refer to a valid field$/,
        );
      });

      it('for preserveUnknownFields: true', async () => {
        const causes = await rejection(spec({}), { spec: { preserveUnknownFields: true } });
        expect(causes.some((cause) => cause.startsWith('spec.preserveUnknownFields'))).toBe(true);
      });

      it('for a group of *.k8s.io without the approval annotation', async () => {
        const body = describeSuiteCrd(server(), names(), spec({}));
        body.spec.group = `${server().suffix}.k8s.io`;
        body.metadata.name = `${body.spec.names.plural}.${body.spec.group}`;
        const status = expectRejection(await server().admin.post(crdsPath, body), 422, 'Invalid');
        expect(causesOf(status)[0]).toMatch(/^metadata\.annotations\[api-approved\.kubernetes\.io\]: Required value/);
      });
    });

    it('with unknown fields are accepted with a warning for each', async () => {
      const answer = await propose(spec({ a: { type: 'string', deskription: 'x' } }));
      expectSuccess(answer, 201);
      expect(warningsOf(answer)).toEqual([
        'unknown field "spec.versions[0].schema.openAPIV3Schema.properties.spec.properties.a.deskription"',
      ]);
    });

    it('with an unknown format are accepted with a warning', async () => {
      const answer = await propose(spec({ a: { type: 'string', format: 'moon-phase' } }));
      expectSuccess(answer, 201);
      expect(warningsOf(answer)).toEqual(['unrecognized format "moon-phase"']);
    });
  });
}
