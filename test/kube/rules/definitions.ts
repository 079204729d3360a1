import { describe, expect, it } from 'vitest';
import { causesOf, refuses, succeeds, warningsOf } from '../support/expectations.ts';
import { eventually, type ServerUnderTest } from '../support/server-under-test.ts';
import { definition, definitionsPath, install, isTrue, widgets, word } from '../support/widgets.ts';
import type { Answer, Body } from '../support/wire.ts';

/** The life of a CustomResourceDefinition, and what makes it be refused. */
export function definitionRules(server: () => ServerUnderTest): void {
  describe('definitions', () => {
    const object = (properties: Body, more: Body = {}): Body => ({ type: 'object', properties, ...more });
    const spec = (properties: Body, more: Body = {}): Body => object({ spec: object(properties, more) });
    const names = () => {
      const plural = `${word()}s`;
      return { plural, kind: plural.charAt(0).toUpperCase() + plural.slice(1) };
    };
    /** Asks for a definition without keeping it. */
    const propose = (schema: Body, change: Parameters<typeof definition>[3] = {}): Promise<Answer> =>
      server().admin.post(definitionsPath, definition(server(), names(), schema, change), { query: { dryRun: 'All' } });
    const refusal = async (schema: Body, change: Parameters<typeof definition>[3] = {}) =>
      causesOf(refuses(await propose(schema, change), 422, 'Invalid'));
    // A schema, columns and fields that all versions share are spoken of as if they stood at the top, where v1beta1 had them.
    const at = (path: string) => `spec.validation.openAPIV3Schema${path}`;

    describe('life', () => {
      it('ends in NamesAccepted and Established, with the accepted names and stored versions in the status', async () => {
        const { admin } = server();
        const body = definition(server(), names(), spec({}));
        await install(server(), body);
        const seen = succeeds(await admin.get(`${definitionsPath}/${body.metadata.name}`));
        expect(seen.status.acceptedNames).toMatchObject({
          plural: body.spec.names.plural,
          singular: body.spec.names.kind.toLowerCase(),
          kind: body.spec.names.kind,
          listKind: `${body.spec.names.kind}List`,
        });
        expect(seen.status.storedVersions).toEqual(['v1']);
        expect(seen.spec.names, 'defaults are written into the spec').toMatchObject({
          listKind: `${body.spec.names.kind}List`,
        });
        expect(seen.spec.conversion).toEqual({ strategy: 'None' });
        const reasons = seen.status.conditions.map(({ type, status, reason }: Body) => [type, status, reason]);
        expect(reasons).toEqual(
          expect.arrayContaining([
            ['NamesAccepted', 'True', 'NoConflicts'],
            ['Established', 'True', 'InitialNamesAccepted'],
          ]),
        );
      });

      it('shows in discovery with verbs, short names, categories and the status sub-resource', async () => {
        const { admin, group, suffix } = server();
        await widgets(server());
        const list = await eventually(
          'widgets in discovery',
          () => admin.get(`/apis/${group}/v1`),
          ({ body }) => body?.resources?.some((resource: Body) => resource.name === 'widgets'),
        );
        expect(list.body).toMatchObject({ kind: 'APIResourceList', apiVersion: 'v1', groupVersion: `${group}/v1` });
        const find = (name: string) => list.body.resources.find((resource: Body) => resource.name === name);
        expect(find('widgets')).toMatchObject({
          name: 'widgets',
          singularName: 'widget',
          namespaced: true,
          kind: 'Widget',
          shortNames: [`w${suffix}`],
          categories: [`c${suffix}`],
        });
        expect([...find('widgets').verbs].sort()).toEqual([
          'create',
          'delete',
          'deletecollection',
          'get',
          'list',
          'patch',
          'update',
          'watch',
        ]);
        expect([...find('widgets/status').verbs].sort()).toEqual(['get', 'patch', 'update']);
        const groups = succeeds(await admin.get('/apis')).groups;
        expect(groups.find((one: Body) => one.name === group)).toMatchObject({
          preferredVersion: { groupVersion: `${group}/v1`, version: 'v1' },
        });
      });

      it('serves each served version, stores in one, and converts by changing apiVersion only', async () => {
        const { admin, group } = server();
        const schema = spec({ a: { type: 'string' } });
        const body = definition(server(), names(), schema);
        body.spec.versions.push({
          name: 'v1alpha1',
          served: true,
          storage: false,
          schema: { openAPIV3Schema: schema },
        });
        body.spec.versions.push({ name: 'v0', served: false, storage: false, schema: { openAPIV3Schema: schema } });
        const namespace = await server().namespace('versions');
        await install(server(), body);
        const path = (v: string) => `/apis/${group}/${v}/namespaces/${namespace}/${body.spec.names.plural}`;
        const { kind } = body.spec.names;
        succeeds(
          await admin.post(path('v1alpha1'), {
            apiVersion: `${group}/v1alpha1`,
            kind,
            metadata: { name: 'x' },
            spec: { a: '1' },
          }),
          201,
        );
        expect(succeeds(await admin.get(`${path('v1')}/x`))).toMatchObject({
          apiVersion: `${group}/v1`,
          spec: { a: '1' },
        });
        expect((await admin.get(`${path('v0')}/x`)).status).toBe(404);
      });

      it('takes its objects along when it is deleted, and is gone only then', async () => {
        const { admin, group } = server();
        const body = definition(server(), names(), spec({}), { scope: 'Cluster' });
        const path = await install(server(), body);
        const { kind } = body.spec.names;
        succeeds(
          await admin.post(path, {
            apiVersion: `${group}/v1`,
            kind,
            metadata: { name: 'held', finalizers: ['example.com/x'] },
          }),
          201,
        );
        const definitionPath = `${definitionsPath}/${body.metadata.name}`;
        const before = succeeds(await admin.get(definitionPath));
        expect(before.metadata.finalizers ?? []).toEqual([]);
        const marked = succeeds(await admin.delete(definitionPath));
        expect(marked.metadata.finalizers).toEqual(['customresourcecleanup.apiextensions.k8s.io']);
        await eventually(
          'the object is marked',
          () => admin.get(`${path}/held`),
          ({ body: held }) => Boolean(held?.metadata?.deletionTimestamp),
        );
        succeeds(await admin.get(definitionPath));
        succeeds(await admin.merge(`${path}/held`, { metadata: { finalizers: null } }));
        await eventually(
          'the definition is gone',
          () => admin.get(definitionPath),
          ({ status }) => status === 404,
          30,
        );
        await eventually(
          'the path is gone',
          () => admin.get(path),
          ({ status }) => status === 404,
        );
      }, 60_000);

      it('takes a changed schema into use for objects that are written from then on', async () => {
        const { admin, group } = server();
        const body = definition(server(), names(), spec({ a: { type: 'string' } }), { scope: 'Cluster' });
        const path = await install(server(), body);
        const { kind } = body.spec.names;
        const make = (name: string, value: string) =>
          admin.post(path, { apiVersion: `${group}/v1`, kind, metadata: { name }, spec: { a: value } });
        succeeds(await make('old', 'long'), 201);
        const schema = spec({ a: { type: 'string', maxLength: 2 }, b: { type: 'integer', default: 5 } });
        const patch = [{ op: 'replace', path: '/spec/versions/0/schema/openAPIV3Schema', value: schema }];
        succeeds(await admin.jsonPatch(`${definitionsPath}/${body.metadata.name}`, patch));
        await eventually(
          'the new schema',
          () => make(word(), 'long'),
          ({ status }) => status === 422,
        );
        expect(succeeds(await admin.get(`${path}/old`)).spec, 'a default shows on reading too').toEqual({
          a: 'long',
          b: 5,
        });
      });

      it('lets an object with an old fault be changed elsewhere (ratcheting)', async () => {
        const { admin, group } = server();
        const body = definition(server(), names(), spec({ a: { type: 'string' }, b: { type: 'string' } }), {
          scope: 'Cluster',
        });
        const path = await install(server(), body);
        const { kind } = body.spec.names;
        succeeds(
          await admin.post(path, {
            apiVersion: `${group}/v1`,
            kind,
            metadata: { name: 'old' },
            spec: { a: 'too long', b: 'x' },
          }),
          201,
        );
        const value = spec({ a: { type: 'string', maxLength: 2 }, b: { type: 'string' } });
        const patch = [{ op: 'replace', path: '/spec/versions/0/schema/openAPIV3Schema', value }];
        succeeds(await admin.jsonPatch(`${definitionsPath}/${body.metadata.name}`, patch));
        await eventually(
          'the new schema',
          () => admin.post(path, { apiVersion: `${group}/v1`, kind, metadata: { name: word() }, spec: { a: 'long' } }),
          ({ status }) => status === 422,
        );
        succeeds(await admin.merge(`${path}/old`, { spec: { b: 'y' } }));
        refuses(await admin.merge(`${path}/old`, { spec: { a: 'still too long' } }), 422, 'Invalid');
      });

      it('is not accepted under a plural or kind that another definition of the group has', async () => {
        const { admin } = server();
        await widgets(server());
        const body = definition(server(), { kind: 'Widget', plural: `${word()}s` }, spec({}));
        succeeds(await admin.post(definitionsPath, body), 201);
        server().deleteLater(`${definitionsPath}/${body.metadata.name}`);
        const { body: seen } = await eventually(
          'the conflict',
          () => admin.get(`${definitionsPath}/${body.metadata.name}`),
          ({ body: one }) =>
            one.status?.conditions?.some((c: Body) => c.type === 'NamesAccepted' && c.status === 'False'),
        );
        expect(isTrue(seen, 'Established')).toBe(false);
        const condition = seen.status.conditions.find((c: Body) => c.type === 'NamesAccepted');
        expect(condition.reason).toMatch(/KindConflict$/);
      });

      it('keeps its scope, group and plural for ever', async () => {
        const { admin } = server();
        await widgets(server());
        const path = `${definitionsPath}/widgets.${server().group}`;
        const scope = refuses(await admin.merge(path, { spec: { scope: 'Cluster' } }), 422, 'Invalid');
        expect(causesOf(scope)).toEqual(['spec.scope: Invalid value: "Cluster": field is immutable']);
        refuses(await admin.merge(path, { spec: { group: 'other.example.com' } }), 422, 'Invalid');
      });

      it('raises its generation when its spec changes', async () => {
        const { admin } = server();
        const body = definition(server(), names(), spec({}));
        await install(server(), body);
        const path = `${definitionsPath}/${body.metadata.name}`;
        succeeds(await admin.merge(path, { metadata: { labels: { a: 'b' } } }));
        expect(succeeds(await admin.get(path)).metadata.generation).toBe(1);
        succeeds(await admin.merge(path, { spec: { names: { shortNames: [`x${word()}`] } } }));
        expect(succeeds(await admin.get(path)).metadata.generation).toBe(2);
      });

      it('can be applied again and again by a field manager without a change', async () => {
        const { admin } = server();
        const body = definition(server(), names(), spec({ a: { type: 'string', default: 'x' } }));
        const path = `${definitionsPath}/${body.metadata.name}`;
        server().deleteLater(path);
        succeeds(await admin.apply(path, body, 'init'), 201);
        await eventually(
          'Established',
          () => admin.get(path),
          ({ body: one }) => isTrue(one, 'Established'),
        );
        const first = succeeds(await admin.apply(path, body, 'init'));
        const second = succeeds(await admin.apply(path, body, 'init'));
        expect(second.metadata.resourceVersion).toBe(first.metadata.resourceVersion);
        expect(second.metadata.generation).toBe(1);
      });
    });

    describe('are refused', () => {
      it('under a name that is not <plural>.<group>', async () => {
        const body = definition(server(), names(), spec({}));
        body.metadata.name = 'something.else';
        const status = refuses(await server().admin.post(definitionsPath, body), 422, 'Invalid');
        expect(causesOf(status)).toEqual([
          `metadata.name: Invalid value: "something.else": must be spec.names.plural+"."+spec.group`,
        ]);
      });

      it('without a schema', async () => {
        const body = definition(server(), names(), spec({}));
        delete body.spec.versions[0].schema;
        const status = refuses(await server().admin.post(definitionsPath, body), 422, 'Invalid');
        expect(causesOf(status).join('\n')).toContain('spec.versions[0].schema.openAPIV3Schema: Required value');
      });

      it('with two storage versions or none', async () => {
        const causes = await refusal(spec({}), { version: { storage: false } });
        expect(causes.join('\n')).toContain('must have exactly one version marked as storage version');
      });

      it('with a scope, conversion or version name that does not exist', async () => {
        const scope = await refusal(spec({}), { spec: { scope: 'Galaxy' } });
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
        const causes = await refusal(schema());
        expect(causes.join('\n')).toContain(expected(at));
      });

      it('for a printer column with a path that cannot be read', async () => {
        const columns = [{ name: 'X', type: 'string', jsonPath: 'spec.a' }];
        const causes = await refusal(spec({}), { version: { additionalPrinterColumns: columns } });
        expect(causes[0]).toMatch(
          /^spec\.additionalPrinterColumns\[0\]\.JSONPath: Invalid value: "spec\.a": must be a simple json path starting with \.$/,
        );
      });

      it('for a printer column of a type that does not exist', async () => {
        const columns = [{ name: 'X', type: 'text', jsonPath: '.spec.a' }];
        const causes = await refusal(spec({}), { version: { additionalPrinterColumns: columns } });
        expect(causes[0]).toMatch(
          /^spec\.additionalPrinterColumns\[0\]\.type: Invalid value: "text": must be one of boolean,date,integer,number,string$/,
        );
      });

      it('for a selectable field that the schema does not have', async () => {
        const causes = await refusal(spec({}), { version: { selectableFields: [{ jsonPath: '.spec.nothing' }] } });
        expect(causes[0]).toMatch(
          /^spec\.selectableFields\[0\]\.jsonPath: Invalid value: "\.spec\.nothing": is an invalid path: does not refer to a valid field$/,
        );
      });

      it('for preserveUnknownFields: true', async () => {
        const causes = await refusal(spec({}), { spec: { preserveUnknownFields: true } });
        expect(causes.some((cause) => cause.startsWith('spec.preserveUnknownFields'))).toBe(true);
      });

      it('for a group of *.k8s.io without the approval annotation', async () => {
        const body = definition(server(), names(), spec({}));
        body.spec.group = `${server().suffix}.k8s.io`;
        body.metadata.name = `${body.spec.names.plural}.${body.spec.group}`;
        const status = refuses(await server().admin.post(definitionsPath, body), 422, 'Invalid');
        expect(causesOf(status)[0]).toMatch(/^metadata\.annotations\[api-approved\.kubernetes\.io\]: Required value/);
      });
    });

    it('with unknown fields are taken with a warning that names each', async () => {
      const answer = await propose(spec({ a: { type: 'string', deskription: 'x' } }));
      succeeds(answer, 201);
      expect(warningsOf(answer)).toEqual([
        'unknown field "spec.versions[0].schema.openAPIV3Schema.properties.spec.properties.a.deskription"',
      ]);
    });

    it('with a format that nobody knows are taken, with a warning', async () => {
      const answer = await propose(spec({ a: { type: 'string', format: 'moon-phase' } }));
      succeeds(answer, 201);
      expect(warningsOf(answer)).toEqual(['unrecognized format "moon-phase"']);
    });
  });
}
