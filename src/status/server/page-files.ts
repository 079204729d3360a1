/** A file of the page. */
export interface PageFile {
  /** E.g. `index.html` or `assets/main-ABCD1234.js`: the name changes with the content. */
  readonly path: string;
  readonly content: string;
}

const contentTypes: Readonly<Record<string, string>> = {
  css: 'text/css; charset=utf-8',
  html: 'text/html; charset=utf-8',
  js: 'text/javascript; charset=utf-8',
  svg: 'image/svg+xml',
};

/** Throws for a file of a type that the page does not have. */
export function contentTypeOf(path: string): string {
  const type = contentTypes[path.slice(path.lastIndexOf('.') + 1)];
  if (type === undefined) throw new TypeError(`the type of ${path} is unknown`);
  return type;
}
