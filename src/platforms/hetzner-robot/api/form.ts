/** A parameter of a call. A list is encoded as PHP reads it: `name[]=a&name[]=b`. */
export type FormField = readonly [name: string, value: string | readonly string[]];

/** `application/x-www-form-urlencoded`: the webservice accepts no other body. */
export function encodeForm(fields: readonly FormField[]): string {
  const form = new URLSearchParams();
  for (const [name, value] of fields) {
    if (typeof value === 'string') form.append(name, value);
    else for (const one of value) form.append(`${name}[]`, one);
  }
  return form.toString();
}
