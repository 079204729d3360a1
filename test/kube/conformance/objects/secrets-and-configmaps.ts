import { beforeAll, describe, expect, it } from 'vitest';
import { causesOf, expectRejection, expectSuccess } from '../../support/expectations.ts';
import type { ServerUnderTest } from '../../support/server-under-test.ts';

/** Secrets and ConfigMaps: their data, and its immutability. */
export function testSecretsAndConfigMaps(server: () => ServerUnderTest): void {
  describe('secrets and config maps', () => {
    let namespace: string;
    const secrets = (name?: string) => `/api/v1/namespaces/${namespace}/secrets${name ? `/${name}` : ''}`;

    beforeAll(async () => {
      namespace = await server().namespace('objects');
    });

    it('convert stringData to data, with precedence, and never return it', async () => {
      const body = expectSuccess(
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
      const merged = expectSuccess(await server().admin.merge(secrets('strings'), { stringData: { d: 'more' } }));
      expect(Object.keys(merged.data).sort()).toEqual(['a', 'b', 'c', 'd']);
    });

    it('reject data that is no base64 (400)', async () => {
      const status = expectRejection(
        await server().admin.post(secrets(), { metadata: { name: 'x' }, data: { a: 'not base64!' } }),
        400,
        'BadRequest',
      );
      expect(status.message).toContain('illegal base64 data at input byte');
    });

    it('reject a data key outside of [-._a-zA-Z0-9]', async () => {
      const status = expectRejection(
        await server().admin.post(secrets(), { metadata: { name: 'x' }, stringData: { 'a b': '' } }),
        422,
        'Invalid',
      );
      expect(status.details.causes[0].field).toBe('data[a b]');
    });

    it('reject a changed type of an existing secret', async () => {
      expectSuccess(
        await server().admin.post(secrets(), { metadata: { name: 'typed' }, type: 'example.com/one' }),
        201,
      );
      const status = expectRejection(
        await server().admin.merge(secrets('typed'), { type: 'example.com/two' }),
        422,
        'Invalid',
      );
      expect(causesOf(status)).toEqual(['type: Invalid value: "example.com/two": field is immutable']);
    });

    it('reject any change to the data of an immutable secret, and to its immutability', async () => {
      expectSuccess(
        await server().admin.post(secrets(), {
          metadata: { name: 'fixed' },
          immutable: true,
          stringData: { a: '1' },
        }),
        201,
      );
      const data = expectRejection(
        await server().admin.merge(secrets('fixed'), { stringData: { a: '2' } }),
        422,
        'Invalid',
      );
      expect(causesOf(data)).toEqual(['data: Forbidden: field is immutable when `immutable` is set']);
      const flag = expectRejection(await server().admin.merge(secrets('fixed'), { immutable: false }), 422, 'Invalid');
      expect(causesOf(flag)).toEqual(['immutable: Forbidden: field is immutable when `immutable` is set']);
      expectSuccess(await server().admin.merge(secrets('fixed'), { metadata: { labels: { still: 'movable' } } }));
    });
  });
}
