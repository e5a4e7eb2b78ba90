-- For reading: the keywords of events as exports tell them.

create view v_keywords as
select w.name as crawl, m.name as method, k.term, {time k.since} as since, k.why, k.numbers, {time k.until} as until, k.until_why,
    k.until_numbers
from keywords k join keyword_methods m on m.method = k.method join crawls w on w.crawl = k.crawl;
