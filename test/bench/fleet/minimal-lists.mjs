// The minimal work of a process that caches everything: `node minimal-lists.mjs` reads the URL from its environment,
// lists each kind in pages, parses the responses, keeps them, and ends.
import process from 'node:process';
import { Agent, request } from 'undici';

const { server, ca, token, paths, pageSize } = JSON.parse(process.env.BARE_LISTS ?? '{}');
const dispatcher = new Agent({ connect: { ca } });
const headers = { authorization: `Bearer ${token}`, accept: 'application/json' };

async function list(path) {
  const items = [];
  for (let token = ''; ; ) {
    const url = new URL(path, server);
    url.searchParams.set('limit', pageSize);
    if (token) url.searchParams.set('continue', token);
    const { statusCode, body } = await request(url, { dispatcher, headers });
    if (statusCode !== 200) throw new Error(`${path}: ${statusCode} ${await body.text()}`);
    const page = await body.json();
    items.push(...page.items);
    token = page.metadata.continue;
    if (!token) return items;
  }
}

const lists = await Promise.all(paths.map(list));
process.stdout.write(`${lists.map((items) => items.length).join(' ')}\n`);
process.exit(0);
