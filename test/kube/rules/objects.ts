import { beforeAll, describe, expect, it } from 'vitest';
import { causesOf, namesOf, refuses, succeeds, warningsOf } from '../support/expectations.ts';
import type { ServerUnderTest } from '../support/server-under-test.ts';
import { type Widgets, widgets } from '../support/widgets.ts';

/** Creating, reading, replacing: what every object of every kind has in common. */
export function objectRules(server: () => ServerUnderTest): void {
  describe('objects', () => {
    let namespace: string;
    let widget: Widgets;
    const maps = (name?: string) => `/api/v1/namespaces/${namespace}/configmaps${name ? `/${name}` : ''}`;
    const secrets = (name?: string) => `/api/v1/namespaces/${namespace}/secrets${name ? `/${name}` : ''}`;

    beforeAll(async () => {
      namespace = await server().namespace('objects');
      widget = await widgets(server());
    });

    describe('creating', () => {
      it('answers 201 with the object, its kind, and the metadata that only the server writes', async () => {
        const body = succeeds(await server().admin.post(maps(), { metadata: { name: 'made' }, data: { a: '1' } }), 201);
        expect(body).toMatchObject({ apiVersion: 'v1', kind: 'ConfigMap', data: { a: '1' } });
        expect(body.metadata).toMatchObject({ name: 'made', namespace });
        expect(body.metadata.uid).toMatch(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/);
        expect(body.metadata.creationTimestamp).toMatch(/^\d{4}-\d\d-\d\dT\d\d:\d\d:\d\dZ$/);
        expect(body.metadata.resourceVersion).toMatch(/^\d+$/);
        expect(body.metadata).not.toHaveProperty('selfLink');
        expect(body.metadata, 'ConfigMaps have no generation').not.toHaveProperty('generation');
      });

      it('does not believe a client about uid, creationTimestamp, generation or deletionTimestamp', async () => {
        const forged = {
          uid: '00000000-0000-0000-0000-000000000000',
          creationTimestamp: '2001-01-01T00:00:00Z',
          generation: 7,
          deletionTimestamp: '2001-01-01T00:00:00Z',
          deletionGracePeriodSeconds: 5,
          selfLink: '/nowhere',
        };
        const body = succeeds(
          await server().admin.post(
            widget.path(namespace),
            widget.make('forged', {}, { metadata: { name: 'forged', ...forged } }),
          ),
          201,
        );
        expect(body.metadata.uid).not.toBe(forged.uid);
        expect(body.metadata.creationTimestamp > '2020').toBe(true);
        expect(body.metadata.generation).toBe(1);
        expect(body.metadata).not.toHaveProperty('deletionTimestamp');
        expect(body.metadata).not.toHaveProperty('deletionGracePeriodSeconds');
      });

      it('refuses a second object of the same name with 409 AlreadyExists and names kind and object', async () => {
        succeeds(await server().admin.post(maps(), { metadata: { name: 'twice' } }), 201);
        const status = refuses(
          await server().admin.post(maps(), { metadata: { name: 'twice' } }),
          409,
          'AlreadyExists',
        );
        expect(status.message).toBe('configmaps "twice" already exists');
        expect(status.details).toEqual({ name: 'twice', kind: 'configmaps' });
      });

      it('says group and plural in the AlreadyExists of a custom kind', async () => {
        succeeds(await server().admin.post(widget.path(namespace), widget.make('twice')), 201);
        const status = refuses(
          await server().admin.post(widget.path(namespace), widget.make('twice')),
          409,
          'AlreadyExists',
        );
        expect(status.message).toBe(`widgets.${server().group} "twice" already exists`);
        expect(status.details).toEqual({ name: 'twice', group: server().group, kind: 'widgets' });
      });

      it('makes a name out of generateName: the prefix and five characters, a new one each time', async () => {
        const make = async () =>
          succeeds(await server().admin.post(maps(), { metadata: { generateName: 'made-up-' } }), 201);
        const [one, two] = [await make(), await make()];
        expect(one.metadata.name).toMatch(/^made-up-[a-z0-9]{5}$/);
        expect(one.metadata.generateName).toBe('made-up-');
        expect(two.metadata.name).not.toBe(one.metadata.name);
      });

      it('prefers the name when both name and generateName are given', async () => {
        const body = succeeds(
          await server().admin.post(maps(), { metadata: { name: 'both', generateName: 'x-' } }),
          201,
        );
        expect(body.metadata.name).toBe('both');
      });

      it('refuses an object with neither name nor generateName as 422', async () => {
        const status = refuses(await server().admin.post(maps(), { metadata: {} }), 422, 'Invalid');
        expect(status.message).toBe(
          'ConfigMap "" is invalid: metadata.name: Required value: name or generateName is required',
        );
        expect(status.details.causes).toEqual([
          {
            reason: 'FieldValueRequired',
            message: 'Required value: name or generateName is required',
            field: 'metadata.name',
          },
        ]);
      });

      it('refuses a name that is no DNS name as 422 with the rule in words', async () => {
        const status = refuses(await server().admin.post(maps(), { metadata: { name: 'Bad_Name' } }), 422, 'Invalid');
        expect(status.message).toMatch(
          /^ConfigMap "Bad_Name" is invalid: metadata\.name: Invalid value: "Bad_Name": a lowercase RFC 1123 subdomain must consist of/,
        );
        expect(status.details).toMatchObject({ name: 'Bad_Name', kind: 'ConfigMap' });
        expect(status.details.causes[0]).toMatchObject({ reason: 'FieldValueInvalid', field: 'metadata.name' });
      });

      it('refuses a bad name of a custom kind in the same words', async () => {
        const status = refuses(
          await server().admin.post(widget.path(namespace), widget.make('Bad_Name')),
          422,
          'Invalid',
        );
        expect(status.message).toMatch(
          new RegExp(
            `^Widget\\.${server().group} "Bad_Name" is invalid: metadata\\.name: Invalid value: "Bad_Name": a lowercase RFC 1123 subdomain`,
          ),
        );
        expect(status.details).toMatchObject({ name: 'Bad_Name', group: server().group, kind: 'Widget' });
      });

      it('refuses bad labels and annotations with the field that holds them', async () => {
        const status = refuses(
          await server().admin.post(maps(), {
            metadata: { name: 'labels', labels: { ok: 'not ok!', 'bad key': 'x' }, annotations: { 'a/b/c': '' } },
          }),
          422,
          'Invalid',
        );
        const fields = status.details.causes.map((cause: { field: string }) => cause.field).sort();
        expect(fields).toEqual(['metadata.annotations', 'metadata.labels', 'metadata.labels']);
      });

      it('answers 404 for a namespace that is not there, naming the namespace', async () => {
        const gone = server().unique('nowhere');
        const status = refuses(
          await server().admin.post(`/api/v1/namespaces/${gone}/configmaps`, { metadata: { name: 'x' } }),
          404,
          'NotFound',
        );
        expect(status.message).toBe(`namespaces "${gone}" not found`);
        expect(status.details).toEqual({ name: gone, kind: 'namespaces' });
      });

      it('refuses a body that says another namespace than the path (400)', async () => {
        const status = refuses(
          await server().admin.post(maps(), { metadata: { name: 'x', namespace: 'elsewhere' } }),
          400,
          'BadRequest',
        );
        expect(status.message).toBe(
          'the namespace of the provided object does not match the namespace sent on the request',
        );
      });

      it('fills in kind and apiVersion of a built-in kind when they are absent, but not of a custom kind', async () => {
        expect(succeeds(await server().admin.post(maps(), { metadata: { name: 'kindless' } }), 201).kind).toBe(
          'ConfigMap',
        );
        refuses(
          await server().admin.post(widget.path(namespace), { metadata: { name: 'kindless' }, spec: { size: 1 } }),
          400,
          'BadRequest',
        );
      });

      it('refuses a body of another kind than the path: 400 for a built-in kind, 422 for a custom one', async () => {
        refuses(
          await server().admin.post(maps(), { apiVersion: 'v1', kind: 'Secret', metadata: { name: 'x' } }),
          400,
          'BadRequest',
        );
        const body = { ...widget.make('x'), kind: 'Other' };
        const status = refuses(await server().admin.post(widget.path(namespace), body), 422, 'Invalid');
        expect(causesOf(status)).toEqual(['kind: Invalid value: "Other": must be Widget']);
      });

      it('refuses a resourceVersion on create', async () => {
        const answer = await server().admin.post(maps(), { metadata: { name: 'versioned', resourceVersion: '1' } });
        expect(answer.status).toBe(500);
        expect(answer.body.message).toBe('resourceVersion should not be set on objects to be created');
      });

      it('refuses what is no JSON (400), and a media type it does not know (415)', async () => {
        refuses(await server().admin.post(maps(), '{"metadata":'), 400, 'BadRequest');
        const status = refuses(
          await server().admin.post(maps(), 'x', { contentType: 'text/csv' }),
          415,
          'UnsupportedMediaType',
        );
        expect(status.message).toContain(
          'the body of the request was in an unknown format - accepted media types include:',
        );
      });

      it('reads YAML', async () => {
        const body = succeeds(
          await server().admin.post(maps(), 'metadata:\n  name: yaml\ndata:\n  a: "1"\n', {
            contentType: 'application/yaml',
          }),
          201,
        );
        expect(body.data).toEqual({ a: '1' });
      });

      it('with dryRun=All does everything but keep the object', async () => {
        const query = { dryRun: 'All' };
        const body = succeeds(await server().admin.post(maps(), { metadata: { name: 'dry' } }, { query }), 201);
        expect(body.metadata.uid).toBeTruthy();
        refuses(await server().admin.get(maps('dry')), 404, 'NotFound');
        refuses(
          await server().admin.post(maps(), { metadata: { name: 'dry' } }, { query: { dryRun: 'Some' } }),
          422,
          'Invalid',
        );
      });
    });

    describe('field validation', () => {
      const odd = (name: string) => widget.make(name, { sizes: 3, nested: { unknown: true } });

      it('Strict refuses unknown and duplicate fields and names each', async () => {
        const query = { fieldValidation: 'Strict' };
        const status = refuses(
          await server().admin.post(widget.path(namespace), odd('strict'), { query }),
          400,
          'BadRequest',
        );
        expect(status.message).toContain('strict decoding error: ');
        expect(status.message).toContain('unknown field "spec.sizes"');
        expect(status.message).toContain('unknown field "spec.nested.unknown"');
        const built = refuses(
          await server().admin.post(maps(), { metadata: { name: 'strict' }, datas: {} }, { query }),
          400,
          'BadRequest',
        );
        expect(built.message).toContain('unknown field "datas"');
        const twice = `{"metadata":{"name":"strict"},"data":{"a":"1"},"data":{"a":"2"}}`;
        expect(refuses(await server().admin.post(maps(), twice, { query }), 400, 'BadRequest').message).toContain(
          'duplicate field "data"',
        );
      });

      it('Warn, the default, takes the object and warns about each', async () => {
        const answer = await server().admin.post(widget.path(namespace), odd('warned'));
        succeeds(answer, 201);
        expect(warningsOf(answer).sort()).toEqual([
          'unknown field "spec.nested.unknown"',
          'unknown field "spec.sizes"',
        ]);
      });

      it('Ignore takes it in silence', async () => {
        const answer = await server().admin.post(widget.path(namespace), odd('ignored'), {
          query: { fieldValidation: 'Ignore' },
        });
        expect(succeeds(answer, 201).spec).not.toHaveProperty('sizes');
        expect(warningsOf(answer)).toEqual([]);
      });

      it('refuses any other word', async () => {
        const query = { fieldValidation: 'Loud' };
        const status = refuses(
          await server().admin.post(maps(), { metadata: { name: 'x' } }, { query }),
          422,
          'Invalid',
        );
        expect(status.message).toContain('fieldValidation: Unsupported value: "Loud"');
      });
    });

    describe('reading', () => {
      it('answers 404 NotFound with kind and name for an object that is not there', async () => {
        const status = refuses(await server().admin.get(maps('nothing')), 404, 'NotFound');
        expect(status.message).toBe('configmaps "nothing" not found');
        expect(status.details).toEqual({ name: 'nothing', kind: 'configmaps' });
        const custom = refuses(await server().admin.get(widget.path(namespace, 'nothing')), 404, 'NotFound');
        expect(custom.message).toBe(`widgets.${server().group} "nothing" not found`);
      });

      it('answers a list, empty, for a namespace that is not there', async () => {
        const list = succeeds(await server().admin.get(`/api/v1/namespaces/${server().unique('no')}/configmaps`));
        expect(list).toMatchObject({ kind: 'ConfigMapList', apiVersion: 'v1', items: [] });
      });

      it('answers 404 for a kind and for a group that nobody serves, without naming an object', async () => {
        const kind = refuses(await server().admin.get('/api/v1/gadgets'), 404, 'NotFound');
        expect(kind.message).toBe('the server could not find the requested resource');
        expect(kind.details).toEqual({});
        // A group that no one has answers in plain text, from the router and not from an API group.
        const group = await server().admin.get('/apis/nobody.example.com/v1/things');
        expect(group.status).toBe(404);
        expect(group.text).toBe('404 page not found\n');
      });

      it('answers 405 for a method that the kind does not have', async () => {
        const status = refuses(await server().admin.post(maps('made'), {}), 405, 'MethodNotAllowed');
        expect(status.message).toBe('the server does not allow this method on the requested resource');
      });

      it('lists in the order of names, without kind and apiVersion on the items of a built-in kind', async () => {
        const list = succeeds(await server().admin.get(maps()));
        expect(namesOf(list)).toEqual([...namesOf(list)].sort());
        expect(list.metadata.resourceVersion).toMatch(/^\d+$/);
        expect(list.items[0]).not.toHaveProperty('kind');
        const custom = succeeds(await server().admin.get(widget.path(namespace)));
        expect(custom.kind).toBe('WidgetList');
        expect(custom.items[0]).toMatchObject({ kind: 'Widget', apiVersion: widget.apiVersion });
      });
    });

    describe('replacing', () => {
      it('refuses an old resourceVersion with 409 Conflict, and the object stays', async () => {
        const made = succeeds(
          await server().admin.post(maps(), { metadata: { name: 'raced' }, data: { a: '1' } }),
          201,
        );
        const second = succeeds(await server().admin.put(maps('raced'), { ...made, data: { a: '2' } }));
        expect(second.metadata.resourceVersion).not.toBe(made.metadata.resourceVersion);
        const status = refuses(await server().admin.put(maps('raced'), { ...made, data: { a: '3' } }), 409, 'Conflict');
        expect(status.message).toBe(
          'Operation cannot be fulfilled on configmaps "raced": the object has been modified; please apply your changes to the latest version and try again',
        );
        expect(status.details).toEqual({ name: 'raced', kind: 'configmaps' });
        expect(succeeds(await server().admin.get(maps('raced'))).data).toEqual({ a: '2' });
      });

      it('refuses the uid of another life of the object with 409', async () => {
        succeeds(await server().admin.post(maps(), { metadata: { name: 'reborn' } }), 201);
        const status = refuses(
          await server().admin.put(maps('reborn'), {
            metadata: { name: 'reborn', uid: '00000000-0000-0000-0000-000000000000' },
          }),
          409,
          'Conflict',
        );
        expect(status.message).toMatch(
          /^Operation cannot be fulfilled on configmaps "reborn": (StorageError: invalid object|Precondition failed)/,
        );
      });

      it('lets a built-in kind be replaced without a resourceVersion, but not a custom kind', async () => {
        succeeds(await server().admin.post(maps(), { metadata: { name: 'blind' } }), 201);
        succeeds(await server().admin.put(maps('blind'), { metadata: { name: 'blind' }, data: { b: '2' } }));
        succeeds(await server().admin.post(widget.path(namespace), widget.make('blind')), 201);
        const status = refuses(
          await server().admin.put(widget.path(namespace, 'blind'), widget.make('blind')),
          422,
          'Invalid',
        );
        expect(causesOf(status)).toEqual([
          'metadata.resourceVersion: Invalid value: 0: must be specified for an update',
        ]);
      });

      it('writes nothing when nothing changes: the resourceVersion stays', async () => {
        const made = succeeds(
          await server().admin.post(maps(), { metadata: { name: 'still' }, data: { a: '1' } }),
          201,
        );
        const again = succeeds(await server().admin.put(maps('still'), made));
        expect(again.metadata.resourceVersion).toBe(made.metadata.resourceVersion);
        expect(again.metadata.managedFields).toEqual(made.metadata.managedFields);
      });

      it('keeps uid and creationTimestamp whatever the body leaves out', async () => {
        const made = succeeds(await server().admin.post(maps(), { metadata: { name: 'kept' } }), 201);
        const after = succeeds(
          await server().admin.put(maps('kept'), { metadata: { name: 'kept', labels: { a: 'b' } } }),
        );
        expect(after.metadata.uid).toBe(made.metadata.uid);
        expect(after.metadata.creationTimestamp).toBe(made.metadata.creationTimestamp);
      });

      it('refuses a name in the body that is not the name in the path (400)', async () => {
        succeeds(await server().admin.post(maps(), { metadata: { name: 'named' } }), 201);
        const status = refuses(
          await server().admin.put(maps('named'), { metadata: { name: 'other' } }),
          400,
          'BadRequest',
        );
        expect(status.message).toBe('the name of the object (other) does not match the name on the URL (named)');
      });

      it('answers 404 for an object that is not there: a PUT makes no custom object', async () => {
        const body = widget.make('absent', {}, { metadata: { name: 'absent', resourceVersion: '1' } });
        refuses(await server().admin.put(widget.path(namespace, 'absent'), body), 404, 'NotFound');
      });

      it('moves the generation of a custom kind with its spec, and with nothing else', async () => {
        const path = widget.path(namespace, 'generations');
        const made = succeeds(await server().admin.post(widget.path(namespace), widget.make('generations')), 201);
        expect(made.metadata.generation).toBe(1);
        const labelled = succeeds(
          await server().admin.merge(path, { metadata: { labels: { a: 'b' }, annotations: { c: 'd' } } }),
        );
        expect(labelled.metadata.generation).toBe(1);
        const changed = succeeds(await server().admin.merge(path, { spec: { size: 2 } }));
        expect(changed.metadata.generation).toBe(2);
        const same = succeeds(await server().admin.merge(path, { spec: { size: 2 } }));
        expect(same.metadata.generation).toBe(2);
      });
    });

    describe('many at the same moment', () => {
      it('get one winner where all create the same name', async () => {
        const create = () => server().admin.post(maps(), { metadata: { name: 'rush' } });
        const answers = await Promise.all(Array.from({ length: 8 }, create));
        expect(answers.map(({ status }) => status).sort()).toEqual([201, ...Array.from({ length: 7 }, () => 409)]);
      });

      it('get one winner where all replace the same version', async () => {
        const made = succeeds(await server().admin.post(widget.path(namespace), widget.make('rush')), 201);
        const replace = (_: unknown, size: number) =>
          server().admin.put(widget.path(namespace, 'rush'), { ...made, spec: { size: size + 2 } });
        const answers = await Promise.all(Array.from({ length: 8 }, replace));
        expect(answers.filter(({ status }) => status === 200).length).toBe(1);
        expect(answers.filter(({ status }) => status === 409).length).toBe(7);
      });

      it('lose nothing where each merges a field of its own without a version', async () => {
        succeeds(await server().admin.post(maps(), { metadata: { name: 'merged' } }), 201);
        const merge = (_: unknown, index: number) =>
          server().admin.merge(maps('merged'), { data: { [`k${index}`]: 'x' } });
        for (const answer of await Promise.all(Array.from({ length: 8 }, merge))) succeeds(answer);
        expect(Object.keys(succeeds(await server().admin.get(maps('merged'))).data).length).toBe(8);
      });
    });

    it('of more than three MiB are not even read (413)', async () => {
      const data = { a: 'x'.repeat(3 * 1024 * 1024) };
      const answer = await server().admin.post(maps(), { metadata: { name: 'huge' }, data });
      const status = refuses(answer, 413, 'RequestEntityTooLarge');
      expect(status.message).toBe('Request entity too large: limit is 3145728');
    });

    describe('secrets and config maps', () => {
      it('turns stringData into data, which wins, and never shows it again', async () => {
        const body = succeeds(
          await server().admin.post(secrets(), {
            metadata: { name: 'strings' },
            data: { a: Buffer.from('old').toString('base64'), b: Buffer.from('kept').toString('base64') },
            stringData: { a: 'new', c: 'ümlaut' },
          }),
          201,
        );
        expect(body).not.toHaveProperty('stringData');
        expect(body.type).toBe('Opaque');
        expect(body.data).toEqual({
          a: Buffer.from('new').toString('base64'),
          b: Buffer.from('kept').toString('base64'),
          c: Buffer.from('ümlaut').toString('base64'),
        });
        const merged = succeeds(await server().admin.merge(secrets('strings'), { stringData: { d: 'more' } }));
        expect(Object.keys(merged.data).sort()).toEqual(['a', 'b', 'c', 'd']);
      });

      it('refuses data that is no base64 (400)', async () => {
        const status = refuses(
          await server().admin.post(secrets(), { metadata: { name: 'x' }, data: { a: 'not base64!' } }),
          400,
          'BadRequest',
        );
        expect(status.message).toContain('illegal base64 data at input byte');
      });

      it('refuses a data key outside [-._a-zA-Z0-9]', async () => {
        const status = refuses(
          await server().admin.post(secrets(), { metadata: { name: 'x' }, stringData: { 'a b': '' } }),
          422,
          'Invalid',
        );
        expect(status.details.causes[0].field).toBe('data[a b]');
      });

      it('refuses another type for a secret that is there', async () => {
        succeeds(await server().admin.post(secrets(), { metadata: { name: 'typed' }, type: 'example.com/one' }), 201);
        const status = refuses(
          await server().admin.merge(secrets('typed'), { type: 'example.com/two' }),
          422,
          'Invalid',
        );
        expect(causesOf(status)).toEqual(['type: Invalid value: "example.com/two": field is immutable']);
      });

      it('refuses any change to the data of an immutable secret, and to its immutability', async () => {
        succeeds(
          await server().admin.post(secrets(), {
            metadata: { name: 'fixed' },
            immutable: true,
            stringData: { a: '1' },
          }),
          201,
        );
        const data = refuses(await server().admin.merge(secrets('fixed'), { stringData: { a: '2' } }), 422, 'Invalid');
        expect(causesOf(data)).toEqual(['data: Forbidden: field is immutable when `immutable` is set']);
        const flag = refuses(await server().admin.merge(secrets('fixed'), { immutable: false }), 422, 'Invalid');
        expect(causesOf(flag)).toEqual(['immutable: Forbidden: field is immutable when `immutable` is set']);
        succeeds(await server().admin.merge(secrets('fixed'), { metadata: { labels: { still: 'movable' } } }));
      });
    });
  });
}
